// cuModule*, cuLibrary*, cuFunc*.
#include "gpusim/cuda/work/module.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpusim/cuda/driver/accounts.hpp"
#include "gpusim/cuda/driver/context_limits.hpp"
#include "gpusim/cuda/memory/device_memory.hpp"

using gpusim::Context;
using gpusim::Session;

namespace gpusim {

// A CUfunction and a CUkernel point to one. Never freed, and neither are modules, so that a stale
// handle is recognised.
struct Function {
    std::uint32_t mark;
    Module* module;
    char name[128];
    bool takes_parameter;  // a block takes the first parameter in nanoseconds, not block_ns
    std::uint64_t block_ns;
    std::size_t local_bytes;  // of each of its threads
    bool marks_multiprocessors;
    Shape shape;
    Function* next;
};

struct Variable {
    char name[128];
    std::size_t bytes;
    CUdeviceptr pointer;
    Variable* next;
};

// A CUmodule and a CUlibrary point to one.
struct Module {
    std::uint32_t mark;
    Context* context;
    Function* functions;
    Variable* variables;
    std::uint64_t lazy_bytes;  // what its code takes of the GPU when a function is first looked up
    bool is_loaded;            // whether the code has been loaded
    Module* next;              // in Context::modules
};

namespace {

constexpr std::uint32_t kModuleMark = 0x4d4f4455;
constexpr std::uint32_t kFunctionMark = 0x46554e43;

template <typename Handle>
Module* find_module(Handle handle) {
    auto* module = reinterpret_cast<Module*>(handle);
    return module != nullptr && module->mark == kModuleMark ? module : nullptr;
}

template <typename Handle>
Function* find_function(Handle handle) {
    auto* function = reinterpret_cast<Function*>(handle);
    return function != nullptr && function->mark == kFunctionMark ? function : nullptr;
}

template <typename Item>
Item* find_named(Item* first, const char* name) {
    for (Item* item = first; item != nullptr; item = item->next)
        if (std::strcmp(item->name, name) == 0) return item;
    return nullptr;
}

template <typename Item>
Item* add_named(Item*& first, const char* name) {
    if (Item* known = find_named(first, name); known != nullptr) return known;
    auto* made = static_cast<Item*>(std::calloc(1, sizeof(Item)));
    if (made == nullptr) return nullptr;
    std::snprintf(made->name, sizeof made->name, "%s", name);
    made->next = first;
    first = made;
    return made;
}

Function* add_function(Module& module, const char* name) {
    Function* function = add_named(module.functions, name);
    if (function == nullptr || function->mark == kFunctionMark) return function;
    function->mark = kFunctionMark;
    function->module = &module;
    function->block_ns = kDefaultBlockNs;
    return function;
}

bool read_comment(Module& module, const char* line) {
    char name[128];
    char time[32];
    if (std::sscanf(line, "//gpusim %127[A-Za-z0-9_] block_ns=%31[a-z0-9]", name, time) != 2)
        return true;
    Function* function = add_function(module, name);
    if (function == nullptr) return false;
    function->takes_parameter = std::strcmp(time, "param0") == 0;
    if (!function->takes_parameter) function->block_ns = std::strtoull(time, nullptr, 10);
    return true;
}

bool read_variable(Module& module, const char* declaration) {
    char name[128];
    std::size_t count = 1;
    int bits = 0;
    const int read = std::sscanf(declaration, ".global .align %*d .b%d %127[A-Za-z0-9_][%zu]",
                                 &bits, name, &count);
    if (read < 2 || bits % 8 != 0) return true;
    Variable* variable = add_named(module.variables, name);
    if (variable != nullptr) variable->bytes = static_cast<std::size_t>(bits / 8) * count;
    return variable != nullptr;
}

bool read_local(Module& module, const char* line) {
    char name[128];
    std::size_t bytes = 0;
    if (std::sscanf(line, "//gpusim-local %127[A-Za-z0-9_] %zu", name, &bytes) != 2) return true;
    Function* function = add_function(module, name);
    if (function != nullptr) function->local_bytes = bytes;
    return function != nullptr;
}

bool read_marks(Module& module, const char* line) {
    char name[128];
    if (std::sscanf(line, "//gpusim-marks %127[A-Za-z0-9_] param1", name) != 1) return true;
    Function* function = add_function(module, name);
    if (function != nullptr) function->marks_multiprocessors = true;
    return function != nullptr;
}

bool read_line(Module& module, const char* line) {
    if (std::strncmp(line, "//gpusim ", 9) == 0) return read_comment(module, line);
    if (std::strncmp(line, "//gpusim-local ", 15) == 0) return read_local(module, line);
    if (std::strncmp(line, "//gpusim-marks ", 15) == 0) return read_marks(module, line);
    if (std::sscanf(line, "//gpusim-lazy %lu", &module.lazy_bytes) == 1) return true;
    if (std::strncmp(line, ".visible ", 9) == 0) line += 9;
    char name[128];
    if (std::sscanf(line, ".entry %127[A-Za-z0-9_]", name) == 1)
        return add_function(module, name) != nullptr;
    if (std::strncmp(line, ".global ", 8) == 0) return read_variable(module, line);
    return true;
}

// PTX begins with comments and a version.
bool is_ptx(const char* text) {
    for (; *text != '\0'; text++) {
        if (std::strncmp(text, "//", 2) == 0) {
            while (text[1] != '\0' && *text != '\n')
                text++;
        } else if (std::isspace(static_cast<unsigned char>(*text)) == 0) {
            return std::strncmp(text, ".version ", 9) == 0;
        }
    }
    return false;
}

CUresult load_lazily(Module& module) {
    if (module.is_loaded) return CUDA_SUCCESS;
    module.lazy_bytes = (module.lazy_bytes + kAllocationUnitBytes - 1) / kAllocationUnitBytes *
                        kAllocationUnitBytes;
    const CUresult result = charge(module.context->gpu, module.lazy_bytes, 0);
    module.is_loaded = result == CUDA_SUCCESS;
    return result;
}

void free_module(Module* module) {
    if (module->is_loaded) discharge(module->context->gpu, module->lazy_bytes, 0);
    module->is_loaded = false;
    while (module->functions != nullptr) {
        Function* function = module->functions;
        module->functions = function->next;
        function->mark = 0;
    }
    while (module->variables != nullptr) {
        Variable* variable = module->variables;
        module->variables = variable->next;
        Range* range = find_range(variable->pointer, RangeKind::device);
        if (range != nullptr) range->release(range);
        std::free(variable);
    }
    module->mark = 0;
}

CUresult allocate_variable(Context& context, Variable& variable) {
    DeviceRange* range = nullptr;
    const CUresult error = allocate(context, {.bytes = variable.bytes}, &range);
    if (error == CUDA_SUCCESS) variable.pointer = range->base;
    return error;
}

CUresult load(const char* text, Module** module) {
    Context* context = nullptr;
    if (const CUresult error = current_context(&context); error != CUDA_SUCCESS) return error;
    if (!is_ptx(text)) return CUDA_ERROR_INVALID_IMAGE;
    auto* made = static_cast<Module*>(std::calloc(1, sizeof(Module)));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    made->mark = kModuleMark;
    made->context = &home_of(*context);
    CUresult result = CUDA_SUCCESS;
    for (const char* line = text; line != nullptr; line = std::strchr(line, '\n')) {
        while (std::isspace(static_cast<unsigned char>(*line)) != 0)
            line++;
        if (!read_line(*made, line)) result = CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (Variable* each = made->variables; each != nullptr && result == CUDA_SUCCESS;
         each = each->next)
        result = allocate_variable(*context, *each);
    if (result != CUDA_SUCCESS) {
        free_module(made);
        return result;
    }
    made->next = made->context->modules;
    made->context->modules = made;
    *module = made;
    return CUDA_SUCCESS;
}

CUresult unload(Module* module) {
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Module** place = &module->context->modules;
    while (*place != module)
        place = &(*place)->next;
    *place = module->next;
    free_module(module);
    return CUDA_SUCCESS;
}

CUresult variable_of(const Module* module, const char* name, CUdeviceptr* pointer,
                     std::size_t* bytes) {
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Variable* variable = find_named(module->variables, name);
    if (variable == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (pointer != nullptr) *pointer = variable->pointer;
    if (bytes != nullptr) *bytes = variable->bytes;
    return CUDA_SUCCESS;
}

// A parameter of 64 bits behind others of 64 bits, from either of the two ways to pass them.
CUresult read_parameter(const Launch& launch, std::size_t index, std::uint64_t* value) {
    const void* from = nullptr;
    if (launch.parameters != nullptr) {
        from = launch.parameters[index];
    } else if (launch.extra != nullptr) {
        for (void** each = launch.extra; *each != CU_LAUNCH_PARAM_END; each += 2) {
            if (*each == CU_LAUNCH_PARAM_BUFFER_POINTER)
                from = static_cast<const char*>(each[1]) + index * sizeof *value;
        }
    }
    if (from == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(value, from, sizeof *value);
    return CUDA_SUCCESS;
}

void mark_multiprocessors(Operation& operation) {
    constexpr std::uint32_t kMark = 1;
    for (std::size_t at = 0; at < operation.bytes; at += sizeof kMark)
        std::memcpy(address(operation.to + at), &kMark, sizeof kMark);
}

// The blocks spread over all multiprocessors that the process has.
CUresult add_marks(const Context& context, const Launch& launch, std::uint64_t blocks,
                   Operation& operation) {
    const unsigned all = multiprocessors_of(context.gpu);
    std::uint64_t marks = 0;
    if (const CUresult error = read_parameter(launch, 1, &marks); error != CUDA_SUCCESS)
        return error;
    operation.bytes = (blocks < all ? blocks : all) * sizeof(std::uint32_t);
    operation.to = marks;
    operation.deed = mark_multiprocessors;
    return is_reachable(context, marks, operation.bytes, Side::device, Use::write)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

unsigned blocks_at_once(unsigned threads_per_block) {
    const unsigned fit =
        kThreadsPerMultiprocessor / (threads_per_block > 0 ? threads_per_block : 1);
    constexpr unsigned kMaxBlocks = 16;
    return fit < kMaxBlocks ? fit : kMaxBlocks;
}

CUresult operation_of(const Launch& launch, Operation** operation) {
    Context* context = nullptr;
    if (const CUresult error = current_context(&context); error != CUDA_SUCCESS) return error;
    const Function* function = find_function(launch.function);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (&home_of(*function->module->context) != &home_of(*context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    const std::uint64_t threads =
        std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
    const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (threads == 0 || blocks == 0 || threads > kMaxThreadsPerBlock)
        return CUDA_ERROR_INVALID_VALUE;
    std::uint64_t block_ns = function->block_ns;
    if (function->takes_parameter) {
        if (const CUresult error = read_parameter(launch, 0, &block_ns); error != CUDA_SUCCESS)
            return error;
    }
    const std::uint64_t at_once = blocks_at_once(static_cast<unsigned>(threads));
    const std::uint64_t room = multiprocessors_of(context->gpu) * at_once;
    const std::uint64_t room_of_gpu = gpu_of(*context).multiprocessors * at_once;
    if (launch.is_cooperative && blocks > room) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    if (const CUresult full = grow_stack(*context, function->local_bytes); full != CUDA_SUCCESS)
        return full;
    Operation* made = make_operation(Operation::Place::engine);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const std::uint64_t waves = (blocks + room - 1) / room;
    const std::uint64_t running = waves > 1 ? room : blocks;
    const std::uint64_t demand = (running * kWholeEngine + room_of_gpu - 1) / room_of_gpu;
    made->id = {context->gpu, Engine::compute};
    made->work = {static_cast<std::int64_t>(waves * block_ns) * kPsPerNs,
                  static_cast<std::uint32_t>(demand)};
    if (function->marks_multiprocessors) {
        if (const CUresult error = add_marks(*context, launch, blocks, *made);
            error != CUDA_SUCCESS) {
            release(made);
            return error;
        }
    }
    *operation = made;
    return CUDA_SUCCESS;
}

Shape* shape_of(CUfunction handle) {
    Function* function = find_function(handle);
    return function != nullptr ? &function->shape : nullptr;
}

void unload_all(Context& context) {
    while (context.modules != nullptr)
        unload(context.modules);
}

}  // namespace gpusim

using gpusim::find_function;
using gpusim::find_module;
using gpusim::Function;
using gpusim::Module;

CUresult cuModuleLoadData(CUmodule* handle, const void* image) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Module* module = nullptr;
    const CUresult result = gpusim::load(static_cast<const char*>(image), &module);
    if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUmodule>(module);
    return result;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int /*option_count*/,
                            CUjit_option* /*options*/, void** /*option_values*/) {
    return cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
    if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::FILE* file = std::fopen(path, "rbe");
    if (file == nullptr) return CUDA_ERROR_FILE_NOT_FOUND;
    constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
    auto* text = static_cast<char*>(std::calloc(1, kMaxBytes + 1));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (text != nullptr && std::fread(text, 1, kMaxBytes, file) > 0)
        result = cuModuleLoadData(module, text);
    std::free(text);
    std::fclose(file);
    return result;
}

CUresult cuModuleUnload(CUmodule handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return gpusim::unload(find_module(handle));
}

CUresult cuModuleGetFunction(CUfunction* handle, CUmodule module_handle, const char* name) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (handle == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Module* module = find_module(module_handle);
    if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Function* function = gpusim::find_named(module->functions, name);
    if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (const CUresult full = gpusim::load_lazily(*module); full != CUDA_SUCCESS) return full;
    *handle = reinterpret_cast<CUfunction>(function);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, size_t* bytes, CUmodule module,
                              const char* name) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    return gpusim::variable_of(find_module(module), name, pointer, bytes);
}

// A library is loaded for the current context at once. A real driver may load it for each context
// when it is used there.
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* /*jit_options*/,
                           void** /*jit_values*/, unsigned int /*jit_count*/,
                           CUlibraryOption* /*options*/, void** /*values*/,
                           unsigned int /*count*/) {
    return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), code);
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* /*jit_options*/,
                               void** /*jit_values*/, unsigned int /*jit_count*/,
                               CUlibraryOption* /*options*/, void** /*values*/,
                               unsigned int /*count*/) {
    return cuModuleLoad(reinterpret_cast<CUmodule*>(library), path);
}

CUresult cuLibraryUnload(CUlibrary library) {
    return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel),
                               reinterpret_cast<CUmodule>(library), name);
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = reinterpret_cast<CUmodule>(library);
    return find_module(library) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* pointer, size_t* bytes, CUlibrary library,
                            const char* name) {
    return cuModuleGetGlobal_v2(pointer, bytes, reinterpret_cast<CUmodule>(library), name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *function = reinterpret_cast<CUfunction>(kernel);
    return find_function(kernel) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
    return cuFuncGetModule(reinterpret_cast<CUmodule*>(library),
                           reinterpret_cast<CUfunction>(kernel));
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const Function* function = find_function(handle);
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *module = reinterpret_cast<CUmodule>(function->module);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Function* found = find_function(function);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *value = 0;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        *value = static_cast<int>(gpusim::kMaxThreadsPerBlock);
    if (attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
        *value = static_cast<int>(found->local_bytes);
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                     int threads_per_block,
                                                     size_t /*shared_bytes*/) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (blocks == nullptr || threads_per_block <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (find_function(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *blocks = static_cast<int>(gpusim::blocks_at_once(static_cast<unsigned>(threads_per_block)));
    return CUDA_SUCCESS;
}
