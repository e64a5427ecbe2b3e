/* Creates a context of device 0 and allocates kTaken bytes. Returns the CUresult of that; negative
 * if an earlier step failed. */
#pragma once

#define kTaken (2ULL << 30)

int take(void);
