import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'

/** Writes something that can be left out while the disk is full: a picture is shown all the same, and is looked at again later. */
export function unlessFull(write: () => void): void {
  try {
    write()
  } catch (error) {
    if (!isDiskFull(error)) throw error
  }
}
