import assert from 'node:assert/strict'
import type { StorageBackend, StorageEntry } from '../../contracts/storage.ts'
import { assertFails, assertFailsWith } from '../failures.ts'
import { assertContent, isAbsent, names, put, text } from './assertions.ts'
import { collect, pattern, stream } from './bytes.ts'
import { type BackendCheck, movesFiles, movesFolders, noFolderMoves, noMoves } from './subject.ts'

/** The place of the first file that a test keeps. Its parents are missing. */
const kept = '/kept/user/first'

/** Tests for backends with `supports.keepsReplaced`. */
export function keepingChecks(check: BackendCheck): void {
  const keepingCheck: BackendCheck = (name, run) =>
    check(name, async (backend, skip) => {
      if (!backend.supports.keepsReplaced) return skip('The backend does not keep what it replaces.')
      await run(backend, skip)
    })

  keepingCheck('a write keeps the file that it replaces', async (backend) => {
    const [old, next] = [pattern(2_000_000, 1), pattern(1_500_000, 2)]
    const former = await writeOld(backend, '/folder/file', old)
    const written = await backend.write('/folder/file', stream(next), { keepReplacedAt: kept })
    assert.deepEqual(await backend.stat('/folder/file'), written)
    await assertContent(backend, '/folder/file', next)
    await assertContent(backend, kept, old)
    await assertKept(backend, former)
    await backend.write('/folder/file', stream(''), { keepReplacedAt: '/kept/user/second' })
    await assertContent(backend, '/kept/user/second', next)
    assert.deepEqual(await names(backend, '/kept/user'), ['first', 'second'])
    await backend.remove('/folder')
    await assertContent(backend, kept, old)
  })

  keepingCheck('a write with a condition keeps the file that it replaces', async (backend) => {
    const former = await put(backend, '/file', 'old')
    const { revision } = former
    const refused = backend.write('/file', stream('new'), { ifRevision: 'another', keepReplacedAt: kept })
    await assertFails(refused, ['PRECONDITION_FAILED'], 'another revision')
    await assertNothingKept(backend)
    await backend.write('/file', stream('new'), { ifRevision: revision, keepReplacedAt: kept })
    assert.equal(await text(backend, '/file'), 'new')
    await assertKept(backend, former)
  })

  keepingCheck('a copy keeps the file that it replaces', async (backend, skip) => {
    if (backend.copy === undefined) return skip('The backend does not copy files itself.')
    const source = await put(backend, '/source', 'source')
    const former = await writeOld(backend, '/file', 'old')
    const copied = await backend.copy('/source', '/file', { keepReplacedAt: kept })
    assert.deepEqual(await backend.stat('/file'), copied)
    assert.equal(await text(backend, '/file'), 'source')
    assert.equal(await text(backend, kept), 'old')
    await assertKept(backend, former)
    assert.deepEqual(await backend.stat('/source'), source)
  })

  keepingCheck('a move of a file keeps the file that it replaces', async (backend, skip) => {
    if (!movesFiles(backend)) return skip(noMoves)
    const moved = await put(backend, '/moved', 'moved')
    const former = await writeOld(backend, '/file', 'old')
    await assertFails(
      backend.move('/moved', '/file', { keepReplacedAt: kept }),
      ['CONFLICT'],
      'no `overwrite`',
    )
    await assertNothingKept(backend)
    await backend.move('/moved', '/file', { overwrite: true, keepReplacedAt: kept })
    assert.equal(await text(backend, '/file'), 'moved')
    assert.equal((await backend.stat('/file')).revision, moved.revision)
    assert.equal(await text(backend, kept), 'old')
    await assertKept(backend, former)
    assert.deepEqual(await names(backend, '/'), ['file', 'kept'])
  })

  keepingCheck('a move keeps the folder that it replaces, whole', async (backend, skip) => {
    if (!movesFolders(backend)) return skip(noFolderMoves)
    const keeping = { overwrite: true, keepReplacedAt: kept }
    const { revision } = await put(backend, '/old/inner/file', 'old')
    await backend.makeDirectory('/old/empty')
    await put(backend, '/new/file', 'new')
    await backend.move('/new', '/old', keeping)
    assert.deepEqual(await names(backend, '/old'), ['file'])
    assert.deepEqual(await names(backend, kept), ['empty', 'inner'])
    assert.equal(await text(backend, `${kept}/inner/file`), 'old')
    assert.equal((await backend.stat(`${kept}/inner/file`)).revision, revision)
    assert.deepEqual(await names(backend, '/'), ['kept', 'old'])
    await backend.move(kept, '/back')
    assert.equal(await text(backend, '/back/inner/file'), 'old')
  })

  keepingCheck('a move keeps a folder for a file, and a file for a folder', async (backend, skip) => {
    if (!movesFolders(backend)) return skip(noFolderMoves)
    const former = await put(backend, '/file', 'of the file')
    await put(backend, '/folder/file', 'of the folder')
    await backend.move('/folder', '/file', { overwrite: true, keepReplacedAt: kept })
    assert.equal(await text(backend, '/file/file'), 'of the folder')
    assert.equal(await text(backend, kept), 'of the file')
    await assertKept(backend, former)
    await put(backend, '/next', 'next')
    await backend.move('/next', '/file', { overwrite: true, keepReplacedAt: '/kept/user/second' })
    assert.equal(await text(backend, '/file'), 'next')
    assert.equal(await text(backend, '/kept/user/second/file'), 'of the folder')
    assert.deepEqual(await names(backend, '/'), ['file', 'kept'])
  })

  keepingCheck('where nothing is replaced, nothing is kept', async (backend) => {
    await backend.write('/file', stream('new'), { keepReplacedAt: kept })
    await backend.write('/other', stream('new'), { ifAbsent: true, keepReplacedAt: kept })
    await backend.copy?.('/file', '/copy', { keepReplacedAt: kept })
    await backend.move?.('/other', '/moved', { overwrite: true, keepReplacedAt: kept })
    if (movesFolders(backend)) {
      await put(backend, '/folder/file', 'x')
      await backend.move('/folder', '/elsewhere', { overwrite: true, keepReplacedAt: kept })
    }
    await assertNothingKept(backend)
    const refused = backend.write('/file', stream('x'), { ifAbsent: true, keepReplacedAt: kept })
    await assertFails(refused, ['PRECONDITION_FAILED'], '`ifAbsent`')
    await assertNothingKept(backend)
  })

  keepingCheck('a change that is not made keeps nothing', async (backend) => {
    const former = await put(backend, '/file', 'old')
    await put(backend, '/source', 'source')
    const fault = new Error('the journal is full')
    async function* broken() {
      yield Buffer.from('half')
      throw fault
    }
    const failing = { keepReplacedAt: kept, beforeCommit: () => Promise.reject(fault) }
    for (const attempt of [
      () => backend.write('/file', broken(), { keepReplacedAt: kept }),
      () => backend.write('/file', stream('new'), failing),
      ...(backend.copy === undefined ? [] : [async () => backend.copy?.('/source', '/file', failing)]),
    ]) {
      await assertFailsWith(attempt(), fault, 'a change that was not committed')
      await assertNothingKept(backend)
      assert.deepEqual(await backend.stat('/file'), former)
      assert.equal(await text(backend, '/file'), 'old')
    }
  })

  keepingCheck('`beforeCommit` finds the file at its path, and nothing that is kept', async (backend) => {
    const former = await put(backend, '/file', 'old')
    await backend.write('/file', stream('new'), {
      keepReplacedAt: kept,
      async beforeCommit({ replaced }) {
        assert.deepEqual(replaced, former)
        assert.equal(await text(backend, '/file'), 'old')
        await assertNothingKept(backend)
      },
    })
    await assertKept(backend, former)
  })

  keepingCheck('a snapshot has what was kept until its moment', async (backend, skip) => {
    if (backend.prepareSnapshot === undefined) return skip('The backend does not support snapshots.')
    await put(backend, '/file', 'old')
    const prepared = await backend.prepareSnapshot(new AbortController().signal)
    await backend.write('/file', stream('new'), { keepReplacedAt: kept })
    const halted = await prepared.halt()
    const snapshot = await halted.fix()
    await halted[Symbol.asyncDispose]()
    await backend.write('/file', stream('last'), { keepReplacedAt: '/kept/user/second' })
    assert.deepEqual(await names(snapshot, '/kept/user'), ['first'])
    assert.equal(await text(snapshot, kept), 'old')
    assert.equal(await text(snapshot, '/file'), 'new')
    await snapshot.release()
  })

  keepingCheck('a reading that is open when its file is kept goes on', async (backend) => {
    const bytes = pattern(4_000_000)
    await backend.write('/file', stream(bytes))
    const { content } = await backend.read('/file')
    const chunks = content[Symbol.asyncIterator]()
    const first = await chunks.next()
    assert.ok(!first.done, 'the reading has bytes')
    await backend.write('/file', stream('new'), { keepReplacedAt: kept })
    try {
      const rest = await collect({ [Symbol.asyncIterator]: () => chunks })
      assert.ok(Buffer.concat([first.value, rest]).equals(bytes), 'the bytes are those of the former file')
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      await assertFails(Promise.reject(error), ['CONFLICT'], 'the reading')
    }
    await assertContent(backend, kept, bytes)
  })

  keepingCheck('the name that is kept can be any', async (backend) => {
    const { revision } = await put(backend, '/file', 'old')
    const path = `/kept/${'ü'.repeat(127)}/%_ \\'"`
    await backend.write('/file', stream('new'), { keepReplacedAt: path })
    assert.equal(await text(backend, path), 'old')
    assert.equal((await backend.stat(path)).revision, revision)
  })

  keepingCheck('of several writes at the same time, each former content is kept once', async (backend) => {
    const contents = Array.from({ length: 9 }, (_, index) => `content ${index}`)
    await put(backend, '/file', contents[0] as string)
    await inTurns(backend, contents.slice(1))
    const found = [await text(backend, '/file')]
    for (const name of await names(backend, '/kept')) found.push(await text(backend, `/kept/${name}`))
    assert.deepEqual(found.sort(), contents)
  })
}

/**
 * Writes contents at the same time. Without `supports.atomicConditions`, the callers see to it that only one of them is at its last step, as
 * `files` does.
 */
async function inTurns(backend: StorageBackend, contents: readonly string[]): Promise<void> {
  let turn = Promise.resolve()
  const write = async (content: string) => {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    try {
      await backend.write('/file', stream(content), {
        keepReplacedAt: `/kept/before ${content}`,
        async beforeCommit() {
          const before = turn
          turn = before.then(() => done)
          if (!backend.supports.atomicConditions) await before
        },
      })
    } finally {
      resolve()
    }
  }
  await Promise.all(contents.map(write))
}

/** Stores a file whose time of modification is long ago, if the backend keeps times. */
async function writeOld(
  backend: StorageBackend,
  path: string,
  content: Uint8Array | string,
): Promise<StorageEntry> {
  return backend.write(path, stream(content), { modified: new Date('2001-02-03T04:05:06.000Z') })
}

/** Checks that the kept entry is the former one, but for its name. When it was made may be when it was kept. */
async function assertKept(backend: StorageBackend, former: StorageEntry): Promise<void> {
  const { name, type, size, revision, modified } = await backend.stat(kept)
  const { supports } = backend
  assert.deepEqual(
    { name, type, size, revision, ...(supports.modified && { modified }) },
    {
      name: 'first',
      type: 'file',
      size: former.size,
      revision: former.revision,
      ...(supports.modified && { modified: former.modified }),
    },
  )
}

async function assertNothingKept(backend: StorageBackend): Promise<void> {
  assert.ok(await isAbsent(backend, kept), 'nothing is kept')
}
