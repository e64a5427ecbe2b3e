// Signals that are read from a descriptor instead of interrupting the process.
#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <initializer_list>

#include "adapters/run/owned_descriptor.hpp"

namespace tessera {

inline sigset_t signal_set(std::initializer_list<int> signals) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : signals)
        sigaddset(&set, signal);
    return set;
}

// The signals must be blocked.
inline OwnedDescriptor open_signals(const sigset_t& set) {
    return OwnedDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Takes the signals that are pending, and calls `body` with each.
template <class Body>
void take_signals(const OwnedDescriptor& signals, Body body) {
    signalfd_siginfo signal = {};
    while (::read(signals.get(), &signal, sizeof signal) == ssize_t{sizeof signal})
        body(signal);
}

}  // namespace tessera
