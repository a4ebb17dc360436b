import assert from 'node:assert/strict'
import type { StorageBackend } from '../../contracts/storage.ts'
import { isAbsent } from './assertions.ts'
import type { Moving } from './subject.ts'

/**
 * Moves the file or folder at `/step-0` on and on, and checks that a reader sees it at exactly one of the two paths.
 *
 * @param what the word for it in messages
 * @param onArrival checks it as soon as a reader sees it at its destination
 */
export async function checkWatchedMoves(
  backend: Moving<StorageBackend>,
  what: 'file' | 'folder',
  onArrival: (path: string) => Promise<void> = async () => {},
): Promise<void> {
  for (let step = 0; step < 30; step += 1) {
    const [source, destination] = [`/step-${step}`, `/step-${step + 1}`]
    const moving = backend.move(source, destination)
    let moved = false
    while (!moved) {
      // The source is checked first: if it is missing there, it must have arrived; if it has arrived, it must have left.
      const [left, lost] = [await isAbsent(backend, source), await isAbsent(backend, destination)]
      assert.ok(!(left && lost), `a reader saw the ${what} at neither path`)
      moved = !(await isAbsent(backend, destination))
      if (!moved) continue
      assert.ok(await isAbsent(backend, source), `a reader saw the ${what} at both paths`)
      await onArrival(destination)
    }
    await moving
  }
}
