#include "gpusim/cuda/driver/mps_client.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpusim/cuda/driver/driver.hpp"
#include "gpusim/cuda/work/runner.hpp"
#include "gpusim/cuda/work/work.hpp"
#include "gpusim/mps/limits.hpp"
#include "gpusim/mps/wire.hpp"

namespace gpusim {
namespace {

// False if there is none, or from a daemon of another build, whose Welcome may be shorter.
bool receive_welcome(int fd, mps::Welcome& welcome) {
    constexpr std::size_t kHead = sizeof welcome.head;
    char* rest = reinterpret_cast<char*>(&welcome) + kHead;
    return mps::receive_all(fd, &welcome.head, kHead) &&
           welcome.head.version == mps::kWireVersion &&
           mps::receive_all(fd, rest, sizeof welcome - kHead) &&
           welcome.gpus.count <= mps::kMaxDevices;
}

CUresult greet(int fd) {
    mps::Welcome welcome;
    if (!mps::send_all(fd, &mps::kClient, 1) || !receive_welcome(fd, welcome))
        return CUDA_ERROR_MPS_CONNECTION_FAILED;
    if (welcome.head.error != CUDA_SUCCESS) return static_cast<CUresult>(welcome.head.error);
    // The numbers of another node mean nothing here.
    if (welcome.state_id != driver.state.file->id) return CUDA_ERROR_MPS_CONNECTION_FAILED;
    driver.mps.server = welcome.server;
    driver.mps.gpus = {};
    for (std::uint32_t i = 0; i < welcome.gpus.count; i++) {
        const std::uint32_t gpu = welcome.gpus.gpus[i];
        if (gpu >= driver.state.file->gpu_count) return CUDA_ERROR_MPS_CONNECTION_FAILED;
        driver.mps.gpus.gpus[driver.mps.gpus.count++] = static_cast<int>(gpu);
        driver.mps.pinned_limit_bytes[gpu] = welcome.pinned_limit_bytes[i];
    }
    driver.mps.active_thread_percentage = welcome.active_thread_percentage;
    return CUDA_SUCCESS;
}

// The GPU of this process that an entry of the environment names; -1: none. By the ordinal in this
// process, or by the whole UUID.
int gpu_named(const mps::PinnedLimit& limit) {
    const int ordinal = mps::ordinal_of(limit);
    if (ordinal >= 0) return ordinal < driver.devices.count ? driver.devices.gpus[ordinal] : -1;
    for (int device = 0; device < driver.devices.count; device++) {
        const int gpu = driver.devices.gpus[device];
        const char* uuid = driver.state.file->gpus[gpu].uuid;
        if (std::strlen(uuid) == limit.length &&
            std::strncmp(uuid, limit.device, limit.length) == 0)
            return gpu;
    }
    return -1;
}

// An entry that names no GPU of this process removes all limits, also the server's, as in the
// driver 580 (docs/research/mps-580.md).
void read_pinned_limits(const char* text) {
    std::uint64_t(&limits)[kMaxGpus] = driver.mps.pinned_limit_bytes;
    mps::PinnedLimit entry;
    while (mps::next_pinned_limit(text, entry)) {
        const int gpu = gpu_named(entry);
        if (gpu < 0) {
            for (std::uint64_t& limit : limits)
                limit = 0;
            return;
        }
        if (entry.bytes == 0) continue;
        if (limits[gpu] == 0 || entry.bytes < limits[gpu]) limits[gpu] = entry.bytes;
    }
}

bool has(const GpuList& list, int gpu) {
    for (int i = 0; i < list.count; i++)
        if (list.gpus[i] == gpu) return true;
    return false;
}

void cut_off_all() {
    if (driver.slot < 0) return;
    for (int device = 0; device < driver.devices.count; device++) {
        for (const Engine engine : {Engine::compute, Engine::copies}) {
            const EngineId id = {driver.devices.gpus[device], engine};
            const EngineLock lock(driver.state, id);
            cut_off(driver.state, id, driver.slot, monotonic_ns());
        }
    }
}

void end(Context& context) {
    if (context.alive && context.error == CUDA_SUCCESS) context.error = driver.mps.error;
}

void end_client(CUresult error) {
    if (driver.mps.error != CUDA_SUCCESS) return;
    driver.mps.error = error;
    for (int device = 0; device < driver.devices.count; device++)
        end(driver.primary[device].context);
    for (Context* context = driver.contexts; context != nullptr; context = context->next)
        end(*context);
    cut_off_all();
    ring();
}

// Reports that the socket had no room for, in their order.
struct Unsent {
    mps::Report report;
    Unsent* next;
};
constinit Unsent* first_unsent = nullptr;
constinit Unsent* last_unsent = nullptr;

// False if the socket has no room; it takes a report whole or not at all. A report to a daemon that
// is gone is lost.
bool send_now(const mps::Report& report) {
    return send(driver.mps.fd, &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
           errno != EAGAIN;
}

void send_unsent() {
    while (first_unsent != nullptr && send_now(first_unsent->report)) {
        Unsent* sent = first_unsent;
        first_unsent = sent->next;
        std::free(sent);
    }
}

// A daemon that does not read cannot stop this process. The driver's thread sends what is left, if
// the program makes no more calls. It is lost if this process has no memory.
void send_report(const mps::Report& report) {
    send_unsent();
    if (first_unsent == nullptr && send_now(report)) return;
    auto* unsent = static_cast<Unsent*>(std::calloc(1, sizeof(Unsent)));
    if (unsent == nullptr) return;
    unsent->report = report;
    (first_unsent != nullptr ? last_unsent->next : first_unsent) = unsent;
    last_unsent = unsent;
    need_runner();
}

}  // namespace

CUresult connect_to_mps() {
    const mps::MpsPath control = mps::path_in(mps::pipe_directory(), mps::kControl);
    if (!mps::connect_to(control.text, driver.mps.fd))
        return mps::means_no_daemon(errno) ? CUDA_SUCCESS : CUDA_ERROR_MPS_CONNECTION_FAILED;
    const CUresult result = greet(driver.mps.fd);
    if (result != CUDA_SUCCESS) disconnect_from_mps();
    return result;
}

void disconnect_from_mps() {
    const int fd = driver.mps.fd;
    driver.mps = {.fd = -1, .active_thread_percentage = 100};
    if (fd >= 0) close(fd);
}

void read_mps_environment() {
    if (driver.mps.server == 0) return;
    driver.mps.active_thread_percentage = mps::lower_percentage(
        driver.mps.active_thread_percentage, std::getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
    read_pinned_limits(std::getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"));
}

unsigned multiprocessors_of(int gpu) {
    return mps::multiprocessors_of(driver.state.file->gpus[gpu].multiprocessors,
                                   driver.mps.active_thread_percentage);
}

GpuList gpus_of_mps(const GpuList& present) {
    if (driver.mps.server == 0) return present;
    GpuList both;
    for (int i = 0; i < driver.mps.gpus.count; i++) {
        const int gpu = driver.mps.gpus.gpus[i];
        if (has(present, gpu)) both.gpus[both.count++] = gpu;
    }
    return both;
}

// After the end of the connection the server is gone, or its daemon, which ends it. The error is
// the one that cuda.h gives for a server that does not answer its client any more.
void check_mps() {
    if (driver.mps.fd < 0) return;
    send_unsent();
    if (driver.mps.error != CUDA_SUCCESS) return;
    mps::Notice notice;
    const ssize_t got = recv(driver.mps.fd, &notice, sizeof notice, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const bool is_notice = got == static_cast<ssize_t>(sizeof notice);
    end_client(is_notice ? static_cast<CUresult>(notice.error) : CUDA_ERROR_MPS_RPC_FAILURE);
}

void report_context_made(Context& context) {
    if (driver.mps.fd < 0) return;
    context.mps_context = ++driver.mps.contexts_total;
    mps::Report report;
    report.event = mps::Event::context_made;
    report.context = context.mps_context;
    report.gpu = static_cast<std::uint32_t>(context.gpu);
    report.slot = driver.slot;
    const Gpu& gpu = gpu_of(context);
    std::snprintf(report.name.uuid, sizeof report.name.uuid, "%s", gpu.uuid);
    std::snprintf(report.name.model, sizeof report.name.model, "%s", gpu.model);
    send_report(report);
}

void report_context_ended(const Context& context) {
    if (driver.mps.fd < 0) return;
    mps::Report report;
    report.event = mps::Event::context_ended;
    report.context = context.mps_context;
    report.gpu = static_cast<std::uint32_t>(context.gpu);
    send_report(report);
}

void report_fault(const Context& context, CUresult error) {
    if (driver.mps.fd < 0) return;
    mps::Report report;
    report.event = mps::Event::fault;
    report.gpu = static_cast<std::uint32_t>(context.gpu);
    report.error = static_cast<std::uint32_t>(error);
    send_report(report);
    end_client(error);
}

}  // namespace gpusim
