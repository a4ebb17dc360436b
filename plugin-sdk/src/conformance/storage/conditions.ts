import assert from 'node:assert/strict'
import { assertFails } from '../failures.ts'
import { assertAbsent, names, put, text } from './assertions.ts'
import { stream } from './bytes.ts'
import type { StorageCheck } from './subject.ts'

export function conditionChecks(check: StorageCheck): void {
  check('a write with `ifRevision` replaces that revision only', async (storage) => {
    const { revision: first } = await put(storage, '/file', 'first')
    const { revision: second } = await storage.write('/file', stream('second'), { ifRevision: first })
    for (const ifRevision of [first, 'none-of-ours']) {
      const attempt = storage.write('/file', stream('third'), { ifRevision })
      await assertFails(attempt, ['PRECONDITION_FAILED'], 'a write with another revision')
    }
    assert.equal(await text(storage, '/file'), 'second')
    assert.equal((await storage.stat('/file')).revision, second)
    const missing = storage.write('/missing', stream('x'), { ifRevision: second })
    await assertFails(missing, ['PRECONDITION_FAILED'], 'a write with a revision of a missing file')
    await assertAbsent(storage, '/missing')
  })

  check('a write with `ifAbsent` happens only if nothing exists at the path', async (storage) => {
    await storage.write('/folder/file', stream('first'), { ifAbsent: true })
    const again = storage.write('/folder/file', stream('second'), { ifAbsent: true })
    await assertFails(again, ['PRECONDITION_FAILED'], 'a write to the path of a file')
    const folder = storage.write('/folder', stream('second'), { ifAbsent: true })
    await assertFails(folder, ['PRECONDITION_FAILED', 'CONFLICT'], 'a write to the path of a folder')
    assert.equal(await text(storage, '/folder/file'), 'first')
    await storage.remove('/folder/file')
    await storage.write('/folder/file', stream('third'), { ifAbsent: true })
    assert.equal(await text(storage, '/folder/file'), 'third')
  })

  check('a removal with `ifRevision` removes that revision only', async (storage) => {
    const { revision: first } = await put(storage, '/file', 'first')
    const { revision: second } = await put(storage, '/file', 'second')
    const stale = storage.remove('/file', { ifRevision: first })
    await assertFails(stale, ['PRECONDITION_FAILED'], 'a removal of another revision')
    assert.equal(await text(storage, '/file'), 'second')
    await storage.remove('/file', { ifRevision: second })
    assert.deepEqual(await names(storage, '/'), [])
    const gone = storage.remove('/file', { ifRevision: second })
    await assertFails(gone, ['NOT_FOUND', 'PRECONDITION_FAILED'], 'a removal of a missing file')
  })

  check('a removal with `ifRevision` removes no folder', async (storage) => {
    const { revision: ofFile } = await put(storage, '/folder/file', 'kept')
    const { revision: ofFolder } = await storage.stat('/folder')
    for (const ifRevision of [ofFolder, ofFile, 'none-of-ours']) {
      const attempt = storage.remove('/folder', { ifRevision })
      await assertFails(attempt, ['PRECONDITION_FAILED'], 'a removal of a folder with a revision')
    }
    assert.equal(await text(storage, '/folder/file'), 'kept')
  })
}
