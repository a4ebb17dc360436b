import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { StorageBackend, StorageSnapshot } from '../../contracts/storage.ts'
import { assertContent, assertFails, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

const FILES = 20
const SNAPSHOTS = 5

export function snapshotChecks(check: BackendCheck): void {
  check('a backend has snapshots when it says so, and only then', async (backend) => {
    assert.equal(backend.supports.snapshot, backend.snapshot !== undefined)
  })

  check('a snapshot stays as it was, whatever happens to the files', async (backend) => {
    if (backend.snapshot === undefined) return
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
    await assertFails(snapshot.read('/added'), ['NOT_FOUND'], 'what came later')
    await snapshot.release()
    assert.deepEqual(await names(backend, '/'), ['added', 'moved', 'overwritten'])
  })

  check('a snapshot that begins while files are written has all of one moment', async (backend) => {
    // One writer goes through the files round after round: at any moment the first ones are of one round, the rest of the
    // round before.
    const order = Array.from({ length: FILES }, (_, index) => `/folder-${(index * 7) % FILES}/file`)
    const writeRound = async (round: number) => {
      for (const path of order) {
        await put(backend, path, `${round}`)
        // What never waits for anything would keep the snapshot from going on.
        await setImmediate()
      }
    }
    await duringSnapshots(backend, writeRound, async (snapshot) => {
      const rounds = await Promise.all(order.map(async (path) => Number(await text(snapshot, path))))
      const [first = 0, last = 0] = [rounds.at(0), rounds.at(-1)]
      assert.ok(first - last <= 1, `the first file is of round ${first}, the last one of ${last}`)
      const falling = rounds.every((round, index) => index === 0 || round <= (rounds[index - 1] ?? 0))
      assert.ok(falling, `a snapshot has the files of several moments: rounds ${rounds.join(', ')}`)
    })
  })

  check(
    'a snapshot that begins while folders are moved has each of them once, and whole',
    async (backend) => {
      if (!backend.supports.atomicMove) return
      const inside = Array.from({ length: FILES }, (_, index) => `${index}`.padStart(2, '0'))
      for (const name of inside) await put(backend, `/place-0/${name}`, name)
      const moveOn = async (round: number) => {
        await backend.move(`/place-${round % 3}`, `/place-${(round + 1) % 3}`)
        await setImmediate()
      }
      await duringSnapshots(backend, moveOn, async (snapshot) => {
        const places = await names(snapshot, '/')
        assert.equal(places.length, 1, `a snapshot has the moved folder at ${places.length} places`)
        assert.deepEqual(await names(snapshot, `/${places[0]}`), inside, 'a moved folder is whole')
      })
    },
  )
}

/** Makes snapshots while something goes on, round after round from 0; the first round is over before. */
async function duringSnapshots(
  backend: StorageBackend,
  goOn: (round: number) => Promise<void>,
  look: (snapshot: StorageSnapshot) => Promise<void>,
): Promise<void> {
  if (backend.snapshot === undefined) return
  await goOn(0)
  let running = true
  const going = (async () => {
    for (let round = 1; running; round += 1) await goOn(round)
  })()
  try {
    for (let count = 0; count < SNAPSHOTS; count += 1) {
      const snapshot = await backend.snapshot(new AbortController().signal)
      try {
        await look(snapshot)
      } finally {
        await snapshot.release()
      }
    }
  } finally {
    running = false
    await going
  }
}
