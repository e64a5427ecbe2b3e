// cuArray* and cuMipmappedArray*: memory for textures. The layout of a real array is the vendor's
// secret. Here it is tiles of 64 bytes by 8 rows, which is what is known. An array with deferred
// mapping takes nothing: the call that would map it (cuMemMapArrayAsync) is not modelled.
#include <cstdlib>

#include "gpusim/cuda/memory/device_memory.hpp"
#include "gpusim/cuda/work/capture.hpp"
#include "gpusim/cuda/work/copies.hpp"
#include "gpusim/cuda/work/work.hpp"

using gpusim::Context;
using gpusim::DeviceRange;
using gpusim::Session;

struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    std::size_t bytes;
    CUdeviceptr content;  // 0: deferred, or of a level
    bool is_level;
    CUarray_st* next;
};

struct CUmipmappedArray_st {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    std::size_t bytes;
    CUdeviceptr content;
    unsigned level_count;
    CUarray_st** levels;
    CUmipmappedArray_st* next;
};

namespace {

constexpr std::size_t kGobRowBytes = 64;
constexpr std::size_t kGobRows = 8;
constexpr std::size_t kGobBytes = kGobRowBytes * kGobRows;
constexpr std::size_t kAlignment = 64 << 10;   // of the memory that a deferred array is mapped to
constexpr std::size_t kMostElements = 131072;  // in any direction
constexpr unsigned kLegalFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                 CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
                                 CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT |
                                 CUDA_ARRAY3D_DEFERRED_MAPPING;

constinit CUarray_st* arrays = nullptr;
constinit CUmipmappedArray_st* mipmaps = nullptr;

// Null for an invalid handle.
template <class Object>
Object* find(Object* first, const Object* handle) {
    while (first != nullptr && first != handle)
        first = first->next;
    return first;
}

template <class Object>
void remove(Object** link, const Object* object) {
    while (*link != object)
        link = &(*link)->next;
    *link = object->next;
}

// 0 for a format that is not modelled: video and compressed textures.
std::size_t bytes_of(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 0;
    }
}

bool is_extent(const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
    const bool is_cube = (wanted.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
    const bool is_layered = (wanted.Flags & CUDA_ARRAY3D_LAYERED) != 0;
    if (wanted.Width == 0 || wanted.Width > kMostElements || wanted.Height > kMostElements ||
        wanted.Depth > kMostElements) {
        return false;
    }
    if (wanted.Height == 0 && wanted.Depth != 0 && !is_layered) return false;
    if (is_layered && wanted.Depth == 0) return false;
    if (!is_cube) return true;
    const bool has_sides = is_layered ? wanted.Depth % 6 == 0 : wanted.Depth == 6;
    return wanted.Width == wanted.Height && has_sides;
}

CUresult check(const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
    if (wanted == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if ((wanted->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE)) != 0) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const unsigned channels = wanted->NumChannels;
    if ((wanted->Flags & ~kLegalFlags) != 0 || !is_extent(*wanted) ||
        (channels != 1 && channels != 2 && channels != 4)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return bytes_of(wanted->Format) != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

std::size_t tiled(std::size_t length, std::size_t tile) {
    return (length + tile - 1) / tile;
}

std::size_t bytes_of(const CUDA_ARRAY3D_DESCRIPTOR& array) {
    const std::size_t row = array.Width * array.NumChannels * bytes_of(array.Format);
    const std::size_t depth = array.Depth > 0 ? array.Depth : 1;
    if (array.Height == 0) return tiled(row, kGobRowBytes) * kGobRowBytes * depth;
    return tiled(row, kGobRowBytes) * tiled(array.Height, kGobRows) * kGobBytes * depth;
}

// The descriptor of a level of a mipmap: the number of layers stays the same.
CUDA_ARRAY3D_DESCRIPTOR level_of(const CUDA_ARRAY3D_DESCRIPTOR& whole, unsigned level) {
    const auto halved = [level](std::size_t length) {
        const std::size_t smaller = length >> level;
        return length != 0 && smaller == 0 ? 1 : smaller;
    };
    const bool has_layers = (whole.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    CUDA_ARRAY3D_DESCRIPTOR smaller = whole;
    smaller.Width = halved(whole.Width);
    smaller.Height = halved(whole.Height);
    smaller.Depth = has_layers ? whole.Depth : halved(whole.Depth);
    return smaller;
}

// 1 + floor(log2(the longest side)).
unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& array) {
    const bool has_layers = (array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    std::size_t longest = array.Width > array.Height ? array.Width : array.Height;
    if (!has_layers && array.Depth > longest) longest = array.Depth;
    unsigned levels = 0;
    for (; longest > 0; longest >>= 1)
        levels++;
    return levels;
}

bool is_deferred(const CUDA_ARRAY3D_DESCRIPTOR& array) {
    return (array.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0;
}

CUresult take_content(const CUDA_ARRAY3D_DESCRIPTOR& array, std::size_t bytes,
                      CUdeviceptr* content) {
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    if (const CUresult error = gpusim::check_unsafe_call(); error != CUDA_SUCCESS) return error;
    if (is_deferred(array)) return CUDA_SUCCESS;
    DeviceRange* range = nullptr;
    const CUresult error =
        gpusim::allocate(*context, {.bytes = bytes, .kind = gpusim::RangeKind::array}, &range);
    if (error == CUDA_SUCCESS) *content = range->base;
    return error;
}

// The context may already have released it.
void give_content(CUdeviceptr content) {
    gpusim::Range* range = gpusim::find_range(content, gpusim::RangeKind::array);
    if (range != nullptr) range->release(range);
}

CUresult create(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (array == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = check(wanted); error != CUDA_SUCCESS) return error;
    auto* made = static_cast<CUarray_st*>(std::calloc(1, sizeof(CUarray_st)));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    made->descriptor = *wanted;
    made->bytes = bytes_of(*wanted);
    if (const CUresult error = take_content(*wanted, made->bytes, &made->content);
        error != CUDA_SUCCESS) {
        std::free(made);
        return error;
    }
    made->next = arrays;
    arrays = made;
    *array = made;
    return CUDA_SUCCESS;
}

void free_mipmap(CUmipmappedArray_st* mipmap) {
    for (unsigned i = 0; mipmap->levels != nullptr && i < mipmap->level_count; i++) {
        if (mipmap->levels[i] == nullptr) continue;
        remove(&arrays, mipmap->levels[i]);
        std::free(mipmap->levels[i]);
    }
    std::free(static_cast<void*>(mipmap->levels));
    std::free(mipmap);
}

bool make_levels(CUmipmappedArray_st& mipmap) {
    mipmap.levels = static_cast<CUarray_st**>(std::calloc(mipmap.level_count, sizeof(void*)));
    if (mipmap.levels == nullptr) return false;
    for (unsigned i = 0; i < mipmap.level_count; i++) {
        auto* level = static_cast<CUarray_st*>(std::calloc(1, sizeof(CUarray_st)));
        if (level == nullptr) return false;
        level->descriptor = level_of(mipmap.descriptor, i);
        level->bytes = bytes_of(level->descriptor);
        level->is_level = true;
        level->next = arrays;
        arrays = level;
        mipmap.levels[i] = level;
        mipmap.bytes += level->bytes;
    }
    return true;
}

// Documented only for arrays with deferred mapping.
CUresult requirements_of(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements,
                         const CUDA_ARRAY3D_DESCRIPTOR& array, std::size_t bytes, CUdevice device) {
    if (requirements == nullptr || !is_deferred(array)) return CUDA_ERROR_INVALID_VALUE;
    if (!gpusim::is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    *requirements = {};
    requirements->size = tiled(bytes, kAlignment) * kAlignment;
    requirements->alignment = kAlignment;
    return CUDA_SUCCESS;
}

}  // namespace

namespace gpusim {

CUresult find_content(CUarray handle, ArrayContent* content) {
    const CUarray_st* array = find(arrays, handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (array->is_level) return CUDA_ERROR_NOT_SUPPORTED;
    if (array->content == 0) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR& of = array->descriptor;
    content->base = array->content;
    content->extent = {of.Width * of.NumChannels * bytes_of(of.Format),
                       of.Height > 0 ? of.Height : 1, of.Depth > 0 ? of.Depth : 1};
    content->strides.row = tiled(content->extent.bytes, kGobRowBytes) * kGobRowBytes;
    content->strides.slice = content->strides.row * content->extent.rows;
    return CUDA_SUCCESS;
}

}  // namespace gpusim

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
    if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR wanted = {};
    wanted.Width = descriptor->Width;
    wanted.Height = descriptor->Height;
    wanted.Format = descriptor->Format;
    wanted.NumChannels = descriptor->NumChannels;
    return create(array, &wanted);
}

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR_v1* descriptor) {
    if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR wanted = {descriptor->Width,  descriptor->Height,      0,
                                            descriptor->Format, descriptor->NumChannels, 0};
    return create(array, &wanted);
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR_v1* descriptor) {
    if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR wanted = {descriptor->Width,       descriptor->Height,
                                            descriptor->Depth,       descriptor->Format,
                                            descriptor->NumChannels, descriptor->Flags};
    return create(array, &wanted);
}

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
    return create(array, descriptor);
}

CUresult cuArrayDestroy(CUarray handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    gpusim::wait_for(*context);
    CUarray_st* array = find(arrays, handle);
    if (array == nullptr || array->is_level) return CUDA_ERROR_INVALID_HANDLE;
    give_content(array->content);
    remove(&arrays, array);
    std::free(array);
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray handle) {
    CUDA_ARRAY3D_DESCRIPTOR whole = {};
    if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult error = cuArray3DGetDescriptor_v2(&whole, handle);
    if (error == CUDA_SUCCESS) {
        *descriptor = {whole.Width, whole.Height, whole.Format, whole.NumChannels};
    }
    return error;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const CUarray_st* array = find(arrays, handle);
    if (descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *descriptor = array->descriptor;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements, CUarray handle,
                                      CUdevice device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const CUarray_st* array = find(arrays, handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return requirements_of(requirements, array->descriptor, array->bytes, device);
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* mipmap, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                unsigned int levels) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = check(descriptor); error != CUDA_SUCCESS) return error;
    auto* made = static_cast<CUmipmappedArray_st*>(std::calloc(1, sizeof(CUmipmappedArray_st)));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const unsigned most = most_levels(*descriptor);
    made->descriptor = *descriptor;
    made->level_count = levels < 1 ? 1 : levels > most ? most : levels;
    CUresult result = make_levels(*made) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) result = take_content(*descriptor, made->bytes, &made->content);
    if (result != CUDA_SUCCESS) {
        free_mipmap(made);
        return result;
    }
    made->next = mipmaps;
    mipmaps = made;
    *mipmap = made;
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* array, CUmipmappedArray handle, unsigned int level) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const CUmipmappedArray_st* mipmap = find(mipmaps, handle);
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (array == nullptr || level >= mipmap->level_count) return CUDA_ERROR_INVALID_VALUE;
    *array = mipmap->levels[level];
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    Context* context = nullptr;
    if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
        return error;
    }
    gpusim::wait_for(*context);
    CUmipmappedArray_st* mipmap = find(mipmaps, handle);
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    give_content(mipmap->content);
    remove(&mipmaps, mipmap);
    free_mipmap(mipmap);
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* requirements,
                                               CUmipmappedArray handle, CUdevice device) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    const CUmipmappedArray_st* mipmap = find(mipmaps, handle);
    if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return requirements_of(requirements, mipmap->descriptor, mipmap->bytes, device);
}
