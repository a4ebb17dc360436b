import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { WrittenFile } from '../../contracts/files.ts'
import type { StorageEntry } from '../../contracts/storage.ts'
import { assertAborted, assertFails, assertFailsWith } from '../failures.ts'
import { soon, until } from '../soon.ts'
import { assertAbsent, assertContent, assertEntry, names, put, text } from './assertions.ts'
import { pattern, silentStream, stream } from './bytes.ts'
import type { StorageCheck } from './subject.ts'

const mebibyte = 1024 * 1024
const sizes = [
  0,
  1,
  2,
  4095,
  4096,
  65_535,
  65_536,
  65_537,
  mebibyte - 1,
  mebibyte,
  mebibyte + 1,
  5 * mebibyte + 3,
]

export function writingChecks(check: StorageCheck): void {
  check('a file of any size is read as it was written', async (storage) => {
    for (const size of sizes) {
      const bytes = pattern(size, size + 1)
      assertEntry(await storage.write(`/sizes/${size}`, stream(bytes)), {
        name: `${size}`,
        type: 'file',
        size,
      })
      await assertContent(storage, `/sizes/${size}`, bytes)
    }
  })

  check('chunks can have any size, and can be empty', async (storage) => {
    const bytes = pattern(3 * mebibyte + 7)
    async function* uneven() {
      let start = 0
      for (const size of [1, 0, 2, 1000, 65_536, 0, 2 * mebibyte, 3]) {
        yield bytes.slice(start, start + size)
        start += size
      }
      yield* stream(bytes.slice(start), 777_777)
      yield new Uint8Array(0)
    }
    await storage.write('/uneven', uneven(), { size: bytes.length })
    await assertContent(storage, '/uneven', bytes)
  })

  check('a write returns the same entry as `stat` and `read`', async (storage) => {
    const answer: StorageEntry & Pick<WrittenFile, 'isUndoable'> = await put(
      storage,
      '/folder/file.txt',
      'five!',
    )
    // Only the files of a user tell it, and only of a write.
    const { isUndoable: _isUndoable, ...written } = answer
    assertEntry(written, { name: 'file.txt', type: 'file', size: 5 })
    assert.deepEqual(await storage.stat('/folder/file.txt'), written)
    const { entry, content } = await storage.read('/folder/file.txt')
    assert.deepEqual({ created: written.created, ...entry }, written, 'only `created` may be missing')
    for await (const _chunk of content);
  })

  check('missing parents are made', async (storage) => {
    await put(storage, '/a/b/c/file', 'deep')
    assert.equal((await storage.stat('/a/b')).type, 'directory')
    assert.deepEqual(await names(storage, '/a/b'), ['c'])
    assert.equal(await text(storage, '/a/b/c/file'), 'deep')
  })

  check('overwriting replaces all bytes and changes the revision', async (storage) => {
    const revisions = new Set<string>()
    for (const content of ['a long first version', 'short', 'other', '']) {
      revisions.add((await put(storage, '/file', content)).revision)
      assert.equal(await text(storage, '/file'), content)
    }
    assert.equal(revisions.size, 4, 'each content has another revision')
  })

  check('a file never replaces a folder, and a folder never replaces a file', async (storage) => {
    await put(storage, '/folder/file', 'kept')
    await assertFails(put(storage, '/folder', 'x'), ['CONFLICT'], 'writing over a folder')
    await assertFails(put(storage, '/folder/file/below', 'x'), ['CONFLICT'], 'writing below a file')
    await assertFails(storage.makeDirectory('/folder/file'), ['CONFLICT'], 'making a folder over a file')
    await assertFails(
      storage.makeDirectory('/folder/file/below'),
      ['CONFLICT'],
      'making a folder below a file',
    )
    assert.equal(await text(storage, '/folder/file'), 'kept')
  })

  check('an error of the content ends the write with that error and leaves the old file', async (storage) => {
    const fault = new Error('the content broke')
    async function* broken(bytes: Uint8Array) {
      yield* stream(bytes)
      throw fault
    }
    await put(storage, '/file', 'kept')
    for (const size of [0, 10, 2 * mebibyte]) {
      for (const path of ['/file', '/absent']) {
        await assertFailsWith(storage.write(path, broken(pattern(size))), fault, 'a write of broken content')
      }
    }
    assert.equal(await text(storage, '/file'), 'kept')
    await assertAbsent(storage, '/absent')
    assert.deepEqual(await names(storage, '/'), ['file'])
  })

  check('a write that was aborted before it began leaves the old file', async (storage) => {
    await put(storage, '/file', 'kept')
    const signal = AbortSignal.abort()
    for (const path of ['/file', '/absent']) {
      await assertAborted(storage.write(path, stream('x'), { signal }), signal)
    }
    assert.equal(await text(storage, '/file'), 'kept')
    await assertAbsent(storage, '/absent')
  })

  check(
    'a write that is aborted while its content is silent ends and leaves the old file',
    async (storage) => {
      await put(storage, '/file', 'kept')
      for (const path of ['/file', '/absent']) {
        const { content, silent } = silentStream(pattern(2 * mebibyte))
        const controller = new AbortController()
        const aborted = assertAborted(
          storage.write(path, content, { signal: controller.signal }),
          controller.signal,
        )
        await Promise.race([silent, aborted])
        controller.abort()
        await soon(aborted, 'the write did not end after it was aborted')
      }
      assert.equal(await text(storage, '/file'), 'kept')
      assert.deepEqual(await names(storage, '/'), ['file'])
    },
  )

  check('content with fewer or more bytes than announced is not stored', async (storage) => {
    await put(storage, '/file', 'kept')
    for (const size of [0, 4, 6, 2 * mebibyte]) {
      for (const path of ['/file', '/absent']) {
        const attempt = storage.write(path, stream('12345', 2), { size })
        await assertFails(attempt, ['VALIDATION_ERROR'], `5 bytes announced as ${size}`)
      }
    }
    assert.equal(await text(storage, '/file'), 'kept')
    assert.deepEqual(await names(storage, '/'), ['file'])
  })

  check(
    'content that goes on after the announced bytes ends the write, and its source is told',
    async (storage) => {
      let wasLeft = false
      async function* endless() {
        try {
          for (;;) {
            yield Buffer.from('12345')
            await setImmediate()
          }
        } finally {
          wasLeft = true
        }
      }
      const attempt = assertFails(
        storage.write('/file', endless(), { size: 12 }),
        ['VALIDATION_ERROR'],
        'endless',
      )
      await soon(attempt, 'the write goes on after the announced bytes')
      await until(() => wasLeft, 'the source was not told that nobody reads on')
      assert.deepEqual(await names(storage, '/'), [])
    },
  )

  check('a write that fails leaves no folders behind', async (storage) => {
    async function* broken() {
      yield Buffer.from('x')
      throw new Error('the content broke')
    }
    await Promise.allSettled([
      storage.write('/broken/folder/file', broken()),
      storage.write('/short/folder/file', stream('x'), { size: 2 }),
      storage.write('/unmet/folder/file', stream('x'), { ifRevision: 'none-of-ours' }),
      storage.write('/aborted/folder/file', stream('x'), { signal: AbortSignal.abort() }),
    ])
    assert.deepEqual(await names(storage, '/'), [])
  })
}
