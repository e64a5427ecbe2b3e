#include "guard/compute/pieces.hpp"

#include "guard/compute/gate.hpp"
#include "guard/compute/in_context.hpp"
#include "guard/compute/marks.hpp"
#include "guard/inject/driver.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {
namespace {

// A piece of work is measured by events, if the last one was so long that these cost nothing beside
// it; of shorter ones every so many, and the others are taken to have been as much shorter than the
// clock said.
constexpr std::int64_t kLongPieceNs = 500'000;
constexpr unsigned kSampleEvery = 16;
constexpr std::int64_t kMaxOverheadNs = 1'000'000;

// How much longer a piece of work was by the clock than for the card.
std::int64_t excess_ns(StreamTiming& of, std::int64_t now) {
    std::int64_t& known = timing().overhead_ns;
    float ms = 0;
    if (!of.is_end_recorded ||
        driver()->cuEventElapsedTime(&ms, of.sample_start, of.sample_end) != CUDA_SUCCESS)
        return known;
    of.last_piece_ns = static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
    const std::int64_t excess = now - of.began_ns - of.last_piece_ns;
    if (excess < 0) return 0;
    // More than that is a thread that was not running.
    if (excess < kMaxOverheadNs) known = known == 0 ? excess : known + (excess - known) / 4;
    return excess;
}

// `excess` is what of its time was not the card's.
void end_piece(StreamTiming& of, std::int64_t now, std::int64_t excess) {
    if (!of.is_in_flight) return;
    of.is_in_flight = false;
    of.credit.store(0, std::memory_order_relaxed);
    of.mark_count = 0;
    of.since_mark = 0;
    of.has_last = false;
    of.is_sampled = false;
    of.is_end_recorded = false;
    Timing& all = timing();
    if (--all.in_flight[of.card][static_cast<int>(of.kind)] == 0)
        end_flight(of.card, of.kind, now, excess);
}

}  // namespace

void begin_piece(StreamTiming& of, WorkKind kind) {
    Timing& all = timing();
    const std::int64_t now = monotonic_ns();
    of.is_in_flight = true;
    of.kind = kind;
    of.began_ns = now;
    of.has_last = false;
    of.is_sampled = false;
    if (all.in_flight[of.card][static_cast<int>(kind)]++ == 0) begin_flight(of.card, kind, now);
    if (of.last_piece_ns < kLongPieceNs && all.pieces_total++ % kSampleEvery != 0) return;
    of.is_sampled = event_in(of.sample_start, of) != nullptr &&
                    event_in(of.sample_end, of) != nullptr &&
                    driver()->cuEventRecord(of.sample_start, of.stream.load()) == CUDA_SUCCESS;
}

void end_piece(StreamTiming& of) {
    end_piece(of, monotonic_ns(), timing().overhead_ns);
}

bool is_done(const StreamTiming& of) {
    if (of.on_their_way > 0) return false;
    if (of.is_left) return driver()->cuEventQuery(of.sample_end) != CUDA_ERROR_NOT_READY;
    return driver()->cuStreamQuery(of.stream.load()) == CUDA_SUCCESS;
}

void end_waited_for(StreamTiming& of) {
    if (of.on_their_way > 0) return;
    const std::int64_t now = monotonic_ns();
    end_piece(of, now, of.is_in_flight ? excess_ns(of, now) : 0);
}

void record_end(StreamTiming& of) {
    of.is_end_recorded =
        of.is_sampled && driver()->cuEventRecord(of.sample_end, of.stream.load()) == CUDA_SUCCESS;
}

bool record_leaving(StreamTiming& of) {
    const InContext there(of.context);
    of.is_left = event_in(of.sample_end, of) != nullptr &&
                 driver()->cuEventRecord(of.sample_end, of.stream.load()) == CUDA_SUCCESS;
    of.is_end_recorded = of.is_left && of.is_sampled;
    return of.is_left;
}

}  // namespace tessera::guard
