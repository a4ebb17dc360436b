import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { StorageBackend, StorageSnapshot } from '../../contracts/storage.ts'
import { assertFails, assertFailsWith } from '../failures.ts'
import { soon } from '../soon.ts'
import { assertContent, isAbsent, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import { type BackendCheck, movesFiles, movesFolders, noFolderMoves } from './subject.ts'

const fileCount = 20
const snapshotCount = 5
const never = new AbortController().signal
const noSnapshots = 'The backend does not support snapshots.'

export function snapshotChecks(check: BackendCheck): void {
  momentChecks(check)
  check('a snapshot stays as it was when the files change', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
    const bytes = pattern(1_500_000)
    await backend.write('/folder/file', stream(bytes))
    await put(backend, '/overwritten', 'old')
    await put(backend, '/removed', 'old')
    const snapshot = await snapshotOf(backend)
    const folder = movesFolders(backend) ? 'moved' : 'folder'
    if (movesFolders(backend)) await backend.move('/folder', `/${folder}`)
    await put(backend, '/overwritten', 'new')
    await put(backend, '/added', 'new')
    await backend.remove('/removed')
    assert.deepEqual(await names(snapshot, '/'), ['folder', 'overwritten', 'removed'])
    await assertContent(snapshot, '/folder/file', bytes)
    assert.equal(await text(snapshot, '/overwritten'), 'old')
    assert.equal(await text(snapshot, '/removed'), 'old')
    await assertFails(snapshot.read('/added'), ['NOT_FOUND'], 'a later file')
    await snapshot.release()
    assert.deepEqual(await names(backend, '/'), ['added', folder, 'overwritten'])
  })

  check('a snapshot that is made while files are written shows one moment', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
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
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
    if (!movesFolders(backend)) return skip(noFolderMoves)
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

/** Registers the checks of the moment of a snapshot. */
function momentChecks(check: BackendCheck): void {
  check(
    'a snapshot shows what its backend shows at the moment, while writers go on',
    async (backend, skip) => {
      if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
      const paths = Array.from({ length: fileCount }, (_, index) => `/${index % 3}/${index}`)
      for (const path of paths) await put(backend, path, 'before')
      const contents = (files: Pick<StorageBackend, 'read'>) =>
        Promise.all(paths.map((path) => text(files, path)))
      let running = true
      let writes = 0
      const writing = Promise.all(
        [0, 1].map(async (writer) => {
          for (let round = 0; running; round += 1) {
            await put(backend, paths[(round * 2 + writer) % fileCount] ?? '', `${writer} ${round}`)
            writes += 1
            await setImmediate()
          }
        }),
      )
      try {
        for (let count = 0; count < snapshotCount; count += 1) {
          let expected: string[] = []
          const snapshot = await snapshotOf(backend, async () => {
            expected = await contents(backend)
          })
          const before = writes
          while (writes < before + 3) await setImmediate()
          assert.deepEqual(await contents(snapshot), expected)
          await snapshot.release()
        }
      } finally {
        running = false
        await writing
      }
    },
  )

  check('during a halt nothing changes, and changes go on after it', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
    for (const path of ['/overwritten', '/removed', '/moved']) await put(backend, path, 'old')
    let announced = false
    let changes: Promise<unknown> = Promise.resolve()
    const before = ['moved', 'overwritten', 'removed']
    const snapshot = await snapshotOf(backend, async () => {
      changes = Promise.all([
        backend.write('/overwritten', stream('new'), {
          beforeCommit: async () => {
            announced = true
          },
        }),
        put(backend, '/folder/added', 'new'),
        backend.makeDirectory('/made'),
        backend.remove('/removed'),
        ...(movesFiles(backend) ? [backend.move('/moved', '/to')] : []),
      ])
      changes.catch(() => {})
      for (let turn = 0; turn < 50; turn += 1) {
        assert.deepEqual(await names(backend, '/'), before, 'nothing changes during a halt')
        assert.equal(await text(backend, '/overwritten'), 'old', 'no file changes during a halt')
        await setImmediate()
      }
      assert.ok(!announced, 'no `beforeCommit` is called during a halt')
    })
    await soon(changes, 'changes go on after a halt')
    const moved = movesFiles(backend) ? 'to' : 'moved'
    assert.deepEqual(await names(backend, '/'), ['folder', 'made', 'overwritten', moved].sort())
    assert.deepEqual(await names(snapshot, '/'), before)
    assert.equal(await text(snapshot, '/overwritten'), 'old')
    await snapshot.release()
  })

  check('a halt ends without a snapshot, and is over for good', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
    await put(backend, '/file', 'old')
    const prepared = await backend.prepareSnapshot(never)
    const halted = await prepared.halt()
    await halted[Symbol.asyncDispose]()
    await halted[Symbol.asyncDispose]()
    await assertFails(halted.fix(), ['CONFLICT'], '`fix` after the halt')
    await prepared.release()
    await soon(put(backend, '/file', 'new'), 'changes go on after a halt without a snapshot')
    const snapshot = await snapshotOf(backend)
    assert.equal(await text(snapshot, '/file'), 'new')
    await snapshot.release()
  })

  check('an abort ends a snapshot, also a halt, and changes go on', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
    await put(backend, '/file', 'old')
    const reason = new Error('enough')
    const early = snapshotOf(backend, async () => {}, AbortSignal.abort(reason))
    await assertFailsWith(early, reason, 'an aborted snapshot')
    const before = new AbortController()
    const waiting = await backend.prepareSnapshot(before.signal)
    before.abort(reason)
    await assertFailsWith(waiting.halt(), reason, 'a halt after an abort')
    await waiting.release()
    const during = new AbortController()
    const stuck = await backend.prepareSnapshot(during.signal)
    const halted = await stuck.halt()
    during.abort(reason)
    await soon(put(backend, '/file', 'new'), 'changes go on after an abort')
    await assertFailsWith(halted.fix(), reason, '`fix` after an abort')
    await halted[Symbol.asyncDispose]()
    await stuck.release()
  })

  check(
    'a prepared snapshot shows the state when it is taken, and stops nobody before',
    async (backend, skip) => {
      if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
      for (const path of ['/folder/overwritten', '/folder/removed', '/moved/file'])
        await put(backend, path, 'old')
      const prepared = await backend.prepareSnapshot(never)
      await soon(put(backend, '/folder/overwritten', 'new'), 'changes go on after `prepareSnapshot`')
      await put(backend, '/folder/added', 'new')
      await backend.remove('/folder/removed')
      const folder = movesFolders(backend) ? 'to' : 'moved'
      if (movesFolders(backend)) await backend.move('/moved', `/${folder}`)
      const halted = await prepared.halt()
      const snapshot = await halted.fix()
      await halted[Symbol.asyncDispose]()
      await put(backend, '/folder/later', 'later')
      assert.deepEqual(await names(snapshot, '/'), ['folder', folder])
      assert.deepEqual(await names(snapshot, '/folder'), ['added', 'overwritten'])
      assert.equal(await text(snapshot, '/folder/overwritten'), 'new')
      assert.equal(await text(snapshot, `/${folder}/file`), 'old')
      await assertFails(prepared.halt(), ['CONFLICT'], 'a second `halt`')
      await prepared.release()
      assert.equal(await text(snapshot, `/${folder}/file`), 'old', '`release` after `fix` does nothing')
      await snapshot.release()
    },
  )

  check('a prepared snapshot that is given up holds nobody up', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
    await put(backend, '/file', 'old')
    const given = await backend.prepareSnapshot(never)
    const other = await soon(backend.prepareSnapshot(never), 'prepared snapshots do not wait for each other')
    await given.release()
    await given.release()
    await assertFails(given.halt(), ['CONFLICT'], '`halt` after `release`')
    await soon(put(backend, '/file', 'new'), 'changes go on beside prepared snapshots')
    const halted = await soon(other.halt(), 'another snapshot is taken')
    const snapshot = await halted.fix()
    await halted[Symbol.asyncDispose]()
    assert.equal(await text(snapshot, '/file'), 'new')
    await snapshot.release()
  })

  check('a snapshot tells what it leaves out, and can be released twice', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip(noSnapshots)
    await put(backend, '/folder/file', 'text')
    const snapshot = await snapshotOf(backend)
    assert.deepEqual(snapshot.omitted, [], 'files and folders of the backend itself are not left out')
    await snapshot.release()
    await snapshot.release()
    assert.equal(await text(backend, '/folder/file'), 'text')
    assert.ok(await isAbsent(backend, '/other'))
  })
}

/** Prepares and takes a snapshot. */
export async function snapshotOf(
  backend: StorageBackend,
  whileHalted: () => Promise<void> = async () => {},
  signal: AbortSignal = never,
): Promise<StorageSnapshot> {
  const prepared = await backend.prepareSnapshot?.(signal)
  assert.ok(prepared !== undefined)
  await using halted = await prepared.halt()
  await whileHalted()
  return await halted.fix()
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
      const snapshot = await snapshotOf(backend)
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
