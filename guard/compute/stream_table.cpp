#include "guard/compute/stream_table.hpp"

#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

StreamTiming* free_place() {
    Timing& all = timing();
    for (int i = 0; i < all.stream_count; i++)
        if (all.streams[i].is_gone) return &all.streams[i];
    return all.stream_count < kMaxStreams ? &all.streams[all.stream_count++] : nullptr;
}

}  // namespace

bool is_default(CUstream stream) {
    return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

pthread_t thread_of(CUstream stream) {
    return stream == CU_STREAM_PER_THREAD ? pthread_self() : 0;
}

StreamTiming* find_stream(CUstream stream, CUcontext context) {
    StreamTiming* found = nullptr;
    for_each_stream([&](StreamTiming& each) {
        if (each.stream.load(std::memory_order_relaxed) != stream) return;
        if (is_default(stream) && (each.context != context || each.thread != thread_of(stream)))
            return;
        found = &each;
    });
    return found;
}

StreamTiming* find_current_stream(CUstream stream) {
    CUcontext context = nullptr;
    if (is_default(stream) && driver()->cuCtxGetCurrent(&context) != CUDA_SUCCESS) return nullptr;
    return find_stream(stream, context);
}

StreamTiming* find_or_add_stream(CUstream stream, const Current& current) {
    if (StreamTiming* known = find_stream(stream, current.context); known != nullptr) return known;
    StreamTiming* made = free_place();
    if (made == nullptr) return nullptr;
    made->is_gone = false;
    made->context = current.context;
    made->thread = thread_of(stream);
    made->card = current.card;
    made->on_their_way = 0;
    made->generation++;
    made->batch = 1;
    made->stream.store(stream, std::memory_order_relaxed);
    return made;
}

}  // namespace tessera::guard
