// nvidia-cuda-mps-control: a simulation of the vendor's program of that name. -f runs the daemon in
// the foreground and -d in the background; otherwise it is the front end, which ignores arguments.
// $GPUSIM_MPS_VERSION (535 or 550; 550 if unset) says which driver's program it is.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpusim/mps/daemon.hpp"
#include "gpusim/mps/front_end.hpp"

int main(int argc, char** argv) {
    using namespace gpusim::mps;
    const char* version = std::getenv("GPUSIM_MPS_VERSION");
    DaemonPlan plan;
    if (version != nullptr && std::strcmp(version, "535") == 0) plan.version = Version::v535;
    const char* argument = argc > 1 ? argv[1] : "";
    if (std::strcmp(argument, "--help") == 0) {
        std::puts("CUDA MPS Control for Linux/Unix, simulated by gpusim.");
        return 0;
    }
    if (std::strcmp(argument, "-f") != 0 && std::strcmp(argument, "-d") != 0)
        return run_front_end();
    plan.mode = argument[1] == 'd' ? Mode::background : Mode::foreground;
    return run_daemon(plan);
}
