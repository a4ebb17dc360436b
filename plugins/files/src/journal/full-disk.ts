/** SQLite's result codes for a disk without room: https://www.sqlite.org/rescode.html */
const full = 13
const noRoomForIndex = 4874

/** Whether something failed, in SQLite or below it, because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT') return true
  // Extended codes carry the primary one in their lowest byte.
  return typeof errcode === 'number' && ((errcode & 0xff) === full || errcode === noRoomForIndex)
}
