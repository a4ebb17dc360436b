import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { timeLimit } from '../soon.ts'
import { assertEntry, put } from './assertions.ts'
import { stream } from './bytes.ts'
import { type BackendCheck, movesFiles, movesFolders, noMoves } from './subject.ts'

/** The coarsest file systems tell times in steps of two seconds. In milliseconds. */
const coarsestStep = 2000

export function dateChecks(check: BackendCheck): void {
  check('the dates of a file are the time of its write', async (backend) => {
    const before = Date.now()
    const { modified, created } = await put(backend, '/file', 'x')
    for (const date of [modified, created]) {
      const isNow = date.getTime() > before - coarsestStep && date.getTime() < Date.now() + coarsestStep
      assert.ok(isNow, `${date.toISOString()} is the time of the write`)
    }
  })

  check('an overwrite changes `modified`', async (backend) => {
    const { modified: first } = await put(backend, '/file', 'first')
    const end = performance.now() + timeLimit.ms
    // Again and again: the times of the backend may come in steps.
    for (let last = first; last <= first; last = (await backend.stat('/file')).modified) {
      assert.ok(performance.now() < end, 'an overwrite leaves `modified` as it was')
      await put(backend, '/file', 'later')
      await setImmediate()
    }
  })

  check('a move keeps the dates of files', async (backend, skip) => {
    if (!movesFiles(backend)) return skip(noMoves)
    const { modified, created } = await put(backend, '/folder/file', 'x')
    const folder = movesFolders(backend) ? '/moved' : '/folder'
    if (movesFolders(backend)) await backend.move('/folder', folder)
    await backend.move(`${folder}/file`, '/file')
    const moved = await backend.stat('/file')
    assert.deepEqual({ modified: moved.modified, created: moved.created }, { modified, created })
  })

  check('a write keeps the time that `modified` sets', async (backend, skip) => {
    if (!backend.supports.modified) return skip('The backend cannot set the time of a file.')
    const revisions = new Set<string>()
    for (const time of ['2001-02-03T04:05:06.789Z', '1969-12-31T23:59:58.500Z', '2001-02-03T04:05:06.789Z']) {
      const modified = new Date(time)
      // Twice with the same time and size: the revisions must differ.
      for (const content of ['one', 'two']) {
        const written = await backend.write('/folder/file', stream(content), { modified })
        assert.deepEqual(written.modified, modified)
        assert.deepEqual(await backend.stat('/folder/file'), written)
        revisions.add(written.revision)
      }
    }
    assert.equal(revisions.size, 6, 'each write has a revision of its own')
    const { revision, modified } = await backend.stat('/folder/file')
    if (!movesFiles(backend)) return
    await backend.move('/folder/file', '/moved/file')
    const moved = await backend.stat('/moved/file')
    assert.deepEqual({ modified: moved.modified, revision: moved.revision }, { modified, revision })
  })

  check('a time in the future is replaced by the present', async (backend, skip) => {
    if (!backend.supports.modified) return skip('The backend cannot set the time of a file.')
    const modified = new Date(Date.now() + 24 * 60 * 60 * 1000)
    const written = await backend.write('/file', stream('x'), { modified })
    assert.ok(written.modified.getTime() < Date.now() + coarsestStep)
  })

  check('a time that the storage cannot keep is replaced by the present', async (backend, skip) => {
    if (!backend.supports.modified) return skip('The backend cannot set the time of a file.')
    for (const time of [
      '-002026-01-01T00:00:00.000Z',
      '0000-01-01T00:00:00.000Z',
      '1601-01-01T00:00:00.000Z',
    ]) {
      const modified = new Date(time)
      const before = Date.now()
      const written = await backend.write('/file', stream('x'), { modified })
      const isNow = written.modified.getTime() > before - coarsestStep
      const isKept = written.modified.getTime() === modified.getTime()
      assert.ok(isNow || isKept, `${written.modified.toISOString()} is neither ${time} nor the present`)
      assertEntry(written, { name: 'file', type: 'file', size: 1 })
      assert.deepEqual(await backend.stat('/file'), written)
    }
  })
}
