// A copy that comes back when it is done (cuMemcpyDtoH). What the stream has before it the copy
// waits for, and then a thread for the copy: neither is work of the copy engine's, nor is what the
// host has to do for it. So it counts apart from what else the stream has in flight, as a piece of
// work of its own, and for the stream's other work it is a wait.
//
// No event comes behind a copy that is over when its call comes back. So of short ones one in so
// many, by lot, is given as a copy that does not wait, with an event before it and one behind, and
// then waited for; and the others count as long as those are in the mean, which is told when they
// are over. Long ones are all measured. The lot is drawn when it is settled what is copied.
#pragma once

#include <cstddef>

#include "guard/compute/streams.hpp"
#include "guard/compute/turn.hpp"

namespace tessera::guard {

// Lives as long as the call. Any thread. Wants begin() to have succeeded.
class WaitedCopy {
  public:
    WaitedCopy() = default;
    // It has come back; if it has failed, it was no work.
    ~WaitedCopy();
    WaitedCopy(const WaitedCopy&) = delete;
    WaitedCopy& operator=(const WaitedCopy&) = delete;

    // Once: waits until the default stream may be given so much to copy. The driver's error where
    // there is no context; kNotGuarded where its card is not the container's.
    [[nodiscard]] CUresult take_turn(CUstream stream, std::size_t bytes);
    // It is to be given as one that does not wait, where the driver takes it so. If it did, it is
    // this that waits for it, and for nothing that other threads give the stream meanwhile.
    [[nodiscard]] bool is_measured() const { return is_measured_; }
    [[nodiscard]] CUresult wait();
    // It has been waited for.
    void note_done() { is_done_ = true; }

  private:
    void begin(CUstream stream, std::size_t bytes, bool is_turn);
    void begin_piece_of(CUstream stream, std::size_t bytes);
    CUevent record_behind();
    Span end(StreamTiming& of) const;

    Place place_;
    CUstream stream_ = nullptr;
    Given before_;  // what the stream had
    std::int64_t began_ns_ = 0;
    std::size_t bytes_ = 0;
    bool is_long_ = false;
    bool is_measured_ = false;
    bool is_done_ = false;
};

}  // namespace tessera::guard
