// nvmlInit, nvmlShutdown, nvmlErrorString and nvmlSystem*.
#include "gpusim/nvml/session.hpp"

namespace {

struct ResultText {
    nvmlReturn_t value;
    const char* text;
};

constexpr ResultText kResults[] = {
#define NVML_RESULT(name, value, text) {name, text},
#include "api/nvidia/nvml_results.def"
#undef NVML_RESULT
};

}  // namespace

nvmlReturn_t nvmlInit_v2() {
    return gpusim::initialize();
}

nvmlReturn_t nvmlInit() {
    return gpusim::initialize();
}

nvmlReturn_t nvmlInitWithFlags(unsigned int) {
    return gpusim::initialize();
}

nvmlReturn_t nvmlShutdown() {
    return gpusim::shut_down();
}

const char* nvmlErrorString(nvmlReturn_t result) {
    for (const ResultText& row : kResults) {
        if (row.value == result) return row.text;
    }
    return "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
    if (const nvmlReturn_t error = gpusim::ready(); error != NVML_SUCCESS) return error;
    return gpusim::copy_text(gpusim::kDriverVersion, version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
    return gpusim::copy_text(gpusim::kNvmlVersion, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
    if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *version = gpusim::kCudaVersion;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
    return nvmlSystemGetCudaDriverVersion(version);
}
