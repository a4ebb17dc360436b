import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { StorageBackend, StorageSnapshot } from '../../contracts/storage.ts'
import { assertContent, assertFails, names, put, text } from './assertions.ts'
import { noAtomicMoves } from './atomic-moves.ts'
import { pattern, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

const fileCount = 20
const snapshotCount = 5
const noSnapshots = 'The backend does not support snapshots.'

export function snapshotChecks(check: BackendCheck): void {
  check('a snapshot stays as it was when the files change', async (backend, skip) => {
    if (backend.snapshot === undefined) return skip(noSnapshots)
    const bytes = pattern(1_500_000)
    await backend.write('/folder/file', stream(bytes))
    await put(backend, '/overwritten', 'old')
    await put(backend, '/removed', 'old')
    const snapshot = await backend.snapshot(new AbortController().signal)
    await backend.move('/folder', '/moved')
    await put(backend, '/overwritten', 'new')
    await put(backend, '/added', 'new')
    await backend.remove('/removed')
    assert.deepEqual(await names(snapshot, '/'), ['folder', 'overwritten', 'removed'])
    await assertContent(snapshot, '/folder/file', bytes)
    assert.equal(await text(snapshot, '/overwritten'), 'old')
    assert.equal(await text(snapshot, '/removed'), 'old')
    await assertFails(snapshot.read('/added'), ['NOT_FOUND'], 'a later file')
    await snapshot.release()
    assert.deepEqual(await names(backend, '/'), ['added', 'moved', 'overwritten'])
  })

  check('a snapshot that is made while files are written shows one moment', async (backend, skip) => {
    if (backend.snapshot === undefined) return skip(noSnapshots)
    // One writer writes the files in order, round after round. At any moment, the first files are of one round and the
    // others of the round before.
    const order = Array.from({ length: fileCount }, (_, index) => `/folder-${(index * 7) % fileCount}/file`)
    const writeRound = async (round: number) => {
      for (const path of order) {
        await put(backend, path, `${round}`)
        // A backend in memory never waits for anything, and would keep the snapshot from running.
        await setImmediate()
      }
    }
    await duringSnapshots(backend, writeRound, async (snapshot) => {
      const rounds = await Promise.all(order.map(async (path) => Number(await text(snapshot, path))))
      const [first = 0, last = 0] = [rounds.at(0), rounds.at(-1)]
      assert.ok(first - last <= 1, `the first file is of round ${first}, the last file of round ${last}`)
      const falling = rounds.every((round, index) => index === 0 || round <= (rounds[index - 1] ?? 0))
      assert.ok(falling, `a snapshot shows several moments: rounds ${rounds.join(', ')}`)
    })
  })

  check('a snapshot that is made while a folder is moved shows it once, and whole', async (backend, skip) => {
    if (backend.snapshot === undefined) return skip(noSnapshots)
    if (!backend.supports.atomicMove) return skip(noAtomicMoves)
    const inside = Array.from({ length: fileCount }, (_, index) => `${index}`.padStart(2, '0'))
    for (const name of inside) await put(backend, `/folder-at-0/${name}`, name)
    const moveRound = async (round: number) => {
      await backend.move(`/folder-at-${round % 3}`, `/folder-at-${(round + 1) % 3}`)
      await setImmediate()
    }
    await duringSnapshots(backend, moveRound, async (snapshot) => {
      const paths = await names(snapshot, '/')
      assert.equal(paths.length, 1, `a snapshot shows the moved folder at ${paths.length} paths`)
      assert.deepEqual(await names(snapshot, `/${paths[0]}`), inside, 'a moved folder has all its files')
    })
  })
}

/** Makes snapshots while changes run, round after round. Round 0 has ended before the first snapshot. */
async function duringSnapshots(
  backend: StorageBackend,
  change: (round: number) => Promise<void>,
  inspect: (snapshot: StorageSnapshot) => Promise<void>,
): Promise<void> {
  await change(0)
  let running = true
  const changing = (async () => {
    for (let round = 1; running; round += 1) await change(round)
  })()
  try {
    for (let count = 0; count < snapshotCount; count += 1) {
      const snapshot = await backend.snapshot?.(new AbortController().signal)
      assert.ok(snapshot !== undefined)
      try {
        await inspect(snapshot)
      } finally {
        await snapshot.release()
      }
    }
  } finally {
    running = false
    await changing
  }
}
