import assert from 'node:assert/strict'
import type { StorageBackend, StorageStaged } from '../../contracts/storage.ts'
import { assertAborted, assertFails, assertFailsWith } from '../failures.ts'
import { assertAbsent, assertContent, isAbsent, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import type { BackendCheck } from './subject.ts'

type CopyingBackend = StorageBackend & Required<Pick<StorageBackend, 'copy'>>

/** Tests for backends with `copy`. */
export function copyChecks(check: BackendCheck): void {
  const copyCheck = (
    name: string,
    run: (backend: CopyingBackend, skip: (reason: string) => void) => Promise<void>,
  ) =>
    check(name, async (backend, skip) => {
      if (backend.copy === undefined) return skip('The backend does not copy files itself.')
      await run(backend as CopyingBackend, skip)
    })

  copyCheck(
    'a copy has the bytes of its source and a revision of its own, and neither changes the other',
    async (backend) => {
      const bytes = pattern(3_000_000)
      const source = await backend.write('/from/file', stream(bytes))
      const copied = await backend.copy('/from/file', '/to/inner/copy')
      assert.deepEqual(await backend.stat('/to/inner/copy'), copied)
      assert.deepEqual([copied.name, copied.size], ['copy', bytes.length])
      assert.notEqual(copied.revision, source.revision, 'a copy is another file')
      await assertContent(backend, '/to/inner/copy', bytes)
      assert.deepEqual(await backend.stat('/from/file'), source)
      await put(backend, '/from/file', 'later')
      await assertContent(backend, '/to/inner/copy', bytes)
      await backend.copy('/to/inner/copy', '/again')
      await backend.remove('/to')
      await assertContent(backend, '/again', bytes)
      await put(backend, '/empty', '')
      assert.equal((await backend.copy('/empty', '/copy of empty')).size, 0)
      assert.equal(await text(backend, '/copy of empty'), '')
    },
  )

  copyCheck('a copy replaces a file, under the conditions of a write', async (backend) => {
    await put(backend, '/source', 'new')
    const { revision } = await put(backend, '/file', 'old')
    await assertFails(
      backend.copy('/source', '/file', { ifAbsent: true }),
      ['PRECONDITION_FAILED'],
      'ifAbsent',
    )
    for (const path of ['/file', '/none'])
      await assertFails(
        backend.copy('/source', path, { ifRevision: 'another' }),
        ['PRECONDITION_FAILED'],
        'another revision',
      )
    assert.equal(await text(backend, '/file'), 'old')
    await backend.copy('/source', '/file', { ifRevision: revision })
    assert.equal(await text(backend, '/file'), 'new')
    await put(backend, '/file', 'old')
    await backend.copy('/source', '/file')
    assert.equal(await text(backend, '/file'), 'new')
    await backend.copy('/source', '/free', { ifAbsent: true })
    assert.deepEqual(await names(backend, '/'), ['file', 'free', 'source'])
  })

  copyCheck('a copy with `ifSourceRevision` copies that revision only', async (backend) => {
    const { revision: first } = await put(backend, '/file', 'first')
    const { revision: second } = await put(backend, '/file', 'second')
    await assertFails(
      backend.copy('/file', '/copy', { ifSourceRevision: first }),
      ['PRECONDITION_FAILED'],
      'a copy of an older revision',
    )
    assert.deepEqual(await names(backend, '/'), ['file'])
    await backend.copy('/file', '/copy', { ifSourceRevision: second })
    assert.equal(await text(backend, '/copy'), 'second')
  })

  copyCheck('`beforeCommit` of a copy is called once, before the copy is visible', async (backend) => {
    await put(backend, '/source', 'source')
    await put(backend, '/old', 'old')
    for (const path of ['/old', '/new/copy']) {
      const before = await backend.stat(path).catch(() => null)
      const seen: StorageStaged[] = []
      const { revision, size } = await backend.copy('/source', path, {
        async beforeCommit(staged) {
          seen.push(staged)
          if (before !== null) assert.equal(await text(backend, path), 'old')
          else assert.ok(await isAbsent(backend, path), `${path} is visible too early`)
        },
      })
      assert.deepEqual(seen, [{ revision, size, replaced: before }])
    }
  })

  copyCheck('a copy ends without effect when `beforeCommit` rejects', async (backend) => {
    await put(backend, '/source', 'source')
    await put(backend, '/file', 'kept')
    const fault = new Error('the journal is full')
    for (const path of ['/file', '/new/copy']) {
      const attempt = backend.copy('/source', path, { beforeCommit: () => Promise.reject(fault) })
      await assertFailsWith(attempt, fault, 'a copy that was not committed')
    }
    assert.equal(await text(backend, '/file'), 'kept')
    assert.deepEqual(await names(backend, '/'), ['file', 'source'])
  })

  copyCheck('a copy that is not possible is refused and changes nothing', async (backend) => {
    await put(backend, '/folder/file', 'kept')
    await put(backend, '/file', 'kept')
    for (const [source, destination, code] of [
      ['/none', '/copy', 'NOT_FOUND'],
      ['/file/below', '/copy', 'NOT_FOUND'],
      ['/folder', '/copy', 'CONFLICT'],
      ['/', '/copy', 'CONFLICT'],
      ['/file', '/', 'CONFLICT'],
      ['/file', '/file', 'CONFLICT'],
      ['/file', '/file/below', 'CONFLICT'],
      ['/folder/file', '/folder', 'CONFLICT'],
      ['/file', '/folder', 'CONFLICT'],
      ['/folder/file', '/file/below', 'CONFLICT'],
    ] as const)
      await assertFails(backend.copy(source, destination), [code], `copying ${source} to ${destination}`)
    const signal = AbortSignal.abort()
    await assertAborted(backend.copy('/file', '/copy', { signal }), signal)
    assert.deepEqual(await names(backend, '/'), ['file', 'folder'])
    assert.equal(await text(backend, '/folder/file'), 'kept')
    assert.equal(await text(backend, '/file'), 'kept')
    await backend.close()
    await assertFails(backend.copy('/file', '/copy'), ['SERVICE_UNAVAILABLE'], 'copying after the close')
  })

  copyCheck('a copy keeps the time that `modified` sets', async (backend, skip) => {
    if (!backend.supports.modified) return skip('The backend cannot set the time of a file.')
    const modified = new Date('2001-02-03T04:05:06.789Z')
    await put(backend, '/file', 'x')
    const copied = await backend.copy('/file', '/copy', { modified })
    assert.deepEqual(copied.modified, modified)
    assert.deepEqual(await backend.stat('/copy'), copied)
    await assertAbsent(backend, '/none')
  })
}
