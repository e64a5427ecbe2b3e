// A copy whose call returns when it is done (cuMemcpyDtoH). The copy first waits for the stream's
// earlier work, and then a thread waits for the copy. Neither wait is work of the copy engine, nor
// is what the host does for the copy. So the copy counts as a work interval of its own, separate
// from the stream's other work in flight. For that other work it is a wait.
//
// No event can be recorded behind such a copy, because it is over when its call returns. So some of
// the short copies, chosen at random, are issued as copies that do not wait, between two events,
// and then waited for. The other short copies count with the mean length of those. That is recorded
// when they are over. Long copies are all measured. The random choice is made once it is known what
// is copied.
#pragma once

#include <cstddef>

#include "guard/compute/launch_permit.hpp"
#include "guard/compute/streams.hpp"

namespace tessera::guard {

// Lives as long as the call. Any thread. Requires that begin() has succeeded.
class WaitedCopy {
  public:
    WaitedCopy() = default;
    // The call has returned. If it has failed, it was no work.
    ~WaitedCopy();
    WaitedCopy(const WaitedCopy&) = delete;
    WaitedCopy& operator=(const WaitedCopy&) = delete;

    // Call this once: waits until the default stream may copy that many bytes. Returns the driver's
    // error if there is no context, and kNotGuarded if the context's GPU is not the container's.
    [[nodiscard]] CUresult acquire_permit(CUstream stream, std::size_t bytes);
    // The caller must issue the copy as one that does not wait, if the driver accepts that. If it
    // did, it must call wait(), which waits for the copy, and not for what other threads give the
    // stream meanwhile.
    [[nodiscard]] bool is_measured() const { return is_measured_; }
    [[nodiscard]] CUresult wait();
    // The copy has been waited for.
    void note_done() { is_done_ = true; }

  private:
    void begin(CUstream stream, std::size_t bytes, bool is_permitted);
    void begin_interval_of(CUstream stream, std::size_t bytes);
    CUevent record_behind();
    Span end(StreamTiming& of) const;

    Place place_;
    CUstream stream_ = nullptr;
    Given before_;  // what the stream had before the copy
    std::int64_t began_ns_ = 0;
    std::size_t bytes_ = 0;
    bool is_long_ = false;
    bool is_measured_ = false;
    bool is_done_ = false;
};

}  // namespace tessera::guard
