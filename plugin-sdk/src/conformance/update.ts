import assert from 'node:assert/strict'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { assertAborts, assertDownloadFails, assertFails } from './update/assertions.ts'
import { attackChecks } from './update/attacks.ts'
import { emptyFolder, filesIn, isExecutable, never, newest, notesOf, releaseOf } from './update/releases.ts'
import { serverChecks } from './update/servers.ts'
import type { UpdateCheck, UpdateSubject } from './update/subject.ts'

export type { PublishedRelease, ReleaseServer, UpdateSubject } from './update/subject.ts'
export type { ConformanceTest }

/** The functions that the author of a source passes to the suite. */
export interface UpdateHarness {
  /** Prepares a source with a state of its own. Called once for each test. */
  setUp(): Promise<UpdateSubject>
}

/**
 * Registers the tests that every source of updates must pass. The suite does not depend on a test runner: it uses the given function to
 * register its tests.
 *
 * @example
 * import { test } from 'node:test'
 * updateConformance(test, {
 *   setUp: async () => ({ source, publish, forge, tamper, replay, reopen, server, close }),
 * })
 */
export function updateConformance(test: ConformanceTest, harness: UpdateHarness): void {
  const check: UpdateCheck = checksOf(
    test,
    () => harness.setUp(),
    (subject) => subject.close(),
  )

  check('the newest release is found, with its notes', async ({ source, publish }) => {
    assert.equal(source.isConfigured, true)
    for (const version of ['1.1.0', '1.9.0', '1.10.0']) await publish(releaseOf(version))
    const found = await source.latest('1.0.0', never)
    assert.equal(found?.version, '1.10.0')
    assert.equal(found.notes, notesOf('1.10.0'))
  })

  check('before anything is published, there is no release', async ({ source }) => {
    assert.equal(await source.latest('0.0.1', never), null)
  })

  check('a release without notes has an empty text', async ({ source, publish }) => {
    await publish({ ...releaseOf('1.1.0'), notes: '' })
    assert.equal((await source.latest('1.0.0', never))?.notes, '')
  })

  check('nothing is newer than the newest release', async ({ source, publish }) => {
    for (const version of ['1.9.0', '1.10.0']) await publish(releaseOf(version))
    assert.equal((await source.latest('1.9.0', never))?.version, '1.10.0')
    for (const current of ['1.10.0', '1.11.0', '2.0.0', '10.0.0']) {
      assert.equal(await source.latest(current, never), null, current)
    }
  })

  check('a release is unpacked as it was published', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await publish(releaseOf('1.2.0'))
    await using folder = await emptyFolder()
    await source.download(await newest(source), folder.path, { signal: never })
    assert.deepEqual(await filesIn(folder.path), releaseOf('1.2.0').files)
    assert.equal(await isExecutable(join(folder.path, 'bin/nodekeep')), true, 'a program stays one')
    assert.equal(await isExecutable(join(folder.path, 'release.json')), false)
  })

  check('the progress of a download rises to 1', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await using folder = await emptyFolder()
    const shares: number[] = []
    const onProgress = (share: number) => shares.push(share)
    await source.download(await newest(source), folder.path, { signal: never, onProgress })
    assert.equal(shares.at(-1), 1)
    assert.ok(
      shares.every((share, at) => share >= (shares[at - 1] ?? 0) && share <= 1),
      `The progress must rise from 0 to 1: ${shares.join(', ')}`,
    )
  })

  check('a folder with content is refused, and stays as it is', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await using folder = await emptyFolder()
    await writeFile(join(folder.path, 'mine'), 'mine')
    const download = source.download(await newest(source), folder.path, { signal: never })
    await assertFails(download, ['CONFLICT'], 'a download into a folder with content')
    assert.deepEqual(await filesIn(folder.path), { mine: 'mine' })
  })

  check('a release that was never published is not found', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    await assertDownloadFails(source, '9.9.9', ['NOT_FOUND'])
  })

  check('a call that was aborted before it began ends with the reason', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    const { version } = await newest(source)
    await assertAborts((signal) => source.latest('1.0.0', signal))
    await using folder = await emptyFolder()
    await assertAborts((signal) => source.download({ version }, folder.path, { signal }))
    assert.deepEqual(await readdir(folder.path), [])
  })

  check('calls at the same time do not disturb each other', async ({ source, publish }) => {
    await publish(releaseOf('1.1.0'))
    const found = await newest(source)
    await using one = await emptyFolder()
    await using other = await emptyFolder()
    const [a, b] = await Promise.all([
      source.latest('1.0.0', never),
      source.latest('1.1.0', never),
      source.download(found, one.path, { signal: never }),
      source.download(found, other.path, { signal: never }),
    ])
    assert.equal(a?.version, '1.1.0')
    assert.equal(b, null)
    for (const { path } of [one, other]) assert.deepEqual(await filesIn(path), releaseOf('1.1.0').files)
  })

  attackChecks(check)
  serverChecks(check)
}
