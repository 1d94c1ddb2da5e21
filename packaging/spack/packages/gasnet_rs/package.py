from spack.package import *


class GasnetRs(Package):
    """Runtime for programs in a partitioned global address space: the UPC compiler upcc, the C interface
    of GASNet, and launchers, over shared memory, UDP, MPI and libfabric, chosen when a program starts."""

    license("MIT OR Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=False, description="Build the network mpi")
    variant("ofi", default=False, description="Build the network ofi, over libfabric")

    depends_on("c", type=("build", "run"))
    depends_on("cxx", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("libfabric", when="+ofi")
    depends_on("llvm+clang", when="+mpi", type="build")
    depends_on("llvm+clang", when="+ofi", type="build")
    conflicts("platform=darwin")
    conflicts("platform=windows")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        # Clients are told the real compilers, not those of this build.
        cargo("xtask", "install", "--prefix", prefix, "--cc", self.compiler.cc, "--cxx", self.compiler.cxx)

    def setup_run_environment(self, env):
        env.prepend_path("PKG_CONFIG_PATH", self.prefix.lib.pkgconfig)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def a_program_runs(self):
        upcc, upcrun = Executable(self.prefix.bin.upcc), Executable(self.prefix.bin.upcrun)
        upcc("examples/upc/hello.upc", "-o", "hello")
        upcrun("-n", "2", "./hello")
