// How jobs get on, one line each: for commands that wait, and for a view whose output is no
// terminal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "domain/serving/serving_status.hpp"
#include "domain/training/training_status.hpp"

namespace tessera {

struct ProgressLine {
    std::string job;   // a unique name, such as train, or team/train
    std::string text;  // its state: "PENDING 0/2 pods run: pod train-1: ..."

    friend bool operator==(const ProgressLine&, const ProgressLine&) = default;
};

// `namespaces`: the name includes the namespace.
ProgressLine progress_of(const workload::TrainingStatus& job, bool namespaces);
// The name includes the version, if there is one.
ProgressLine progress_of(const workload::ServingStatus& job, bool namespaces);

// Finds what has changed from one look at the jobs to the next.
class ProgressLines {
  public:
    // "NAME: TEXT" of each job that is new or has changed, in order, and then "NAME: is gone" of
    // those that are not there any more.
    std::vector<std::string> changes(const std::vector<ProgressLine>& now);

  private:
    std::map<std::string, std::string> before_;  // text by job
};

}  // namespace tessera
