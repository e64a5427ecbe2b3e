// cuGetErrorName and cuGetErrorString.
#include "api/nvidia/cuda.h"

namespace {

struct ResultText {
    CUresult value;
    const char* name;
    const char* text;
};

constexpr ResultText kResults[] = {
#define CUDA_RESULT(name, value, text) {name, #name, text},
#include "api/nvidia/cuda_results.def"
#undef CUDA_RESULT
};

const ResultText* find_result(CUresult value) {
    for (const ResultText& result : kResults) {
        if (result.value == value) return &result;
    }
    return nullptr;
}

}  // namespace

CUresult cuGetErrorName(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const ResultText* result = find_result(error);
    *text = result != nullptr ? result->name : nullptr;
    return result != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const ResultText* result = find_result(error);
    *text = result != nullptr ? result->text : nullptr;
    return result != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
