// tessera-run: carries out `tessera run`, with the same options. It is a program of its own because
// it loads NVIDIA's NVML, which the static tessera cannot.
#include "programs/run/local_run.hpp"

int main(int argc, char** argv) {
    return tessera::run_locally(argc, argv);
}
