// Which Jobs of a training job have to end because another one has decided the outcome: parameter
// servers never end by themselves, and workers would wait for a chief that has failed.
#pragma once

#include <string>
#include <vector>

#include "domain/training/training_status.hpp"

namespace tessera::workload {

enum class RoleEnding {
    suspend,  // its pods are ended; those that have ended stay, with their logs
    fail,     // the same, and the Job has failed: for the anchor, whose end counts
    remove,   // the Job is deleted with all its pods
};

struct RoleEnd {
    std::string object;  // the Job's name
    std::string uid;
    RoleEnding how = RoleEnding::suspend;
    std::string why;  // a sentence without a point

    friend bool operator==(const RoleEnd&, const RoleEnd&) = default;
};

// Another role than the anchor has failed. A chief that ends well takes down its workers, whose
// failure may be seen before its success: wait some seconds before roles_to_end().
bool may_still_succeed(const TrainingStatus& job);

// Empty while the outcome is open, and once all have ended. A role that failed by itself stays.
std::vector<RoleEnd> roles_to_end(const TrainingStatus& job);

}  // namespace tessera::workload
