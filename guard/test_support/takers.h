/* Takes a context of device 0 and kTaken bytes: the CUresult; negative where it did not come so
 * far. */
#pragma once

#define kTaken (2ULL << 30)

int take(void);
