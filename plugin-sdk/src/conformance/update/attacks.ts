import assert from 'node:assert/strict'
import { assertDownloadFails, assertFails } from './assertions.ts'
import { never, newest, releaseOf } from './releases.ts'
import type { UpdateCheck } from './subject.ts'

/** Somebody who controls the place of the releases must not decide what the node runs. */
export function attackChecks(check: UpdateCheck): void {
  check('a release that its publisher has not signed is refused', async ({ source, publish, forge }) => {
    await publish(releaseOf('1.1.0'))
    assert.equal((await newest(source)).version, '1.1.0')
    await forge(releaseOf('2.0.0'))
    await assertFails(
      source.latest('1.0.0', never),
      ['UPSTREAM_ERROR'],
      'a check that finds a forged release',
    )
    await assertDownloadFails(source, '2.0.0', ['UPSTREAM_ERROR', 'NOT_FOUND'])
  })

  check('keys are not trusted because they were the first ones', async ({ source, forge }) => {
    await forge(releaseOf('2.0.0'))
    await assertFails(
      source.latest('1.0.0', never),
      ['UPSTREAM_ERROR'],
      'a check that finds a forged release',
    )
    await assertDownloadFails(source, '2.0.0', ['UPSTREAM_ERROR', 'NOT_FOUND'])
  })

  check('other content for a release that was found is refused', async ({ source, publish, forge }) => {
    const release = releaseOf('1.1.0')
    await publish(release)
    const { version } = await newest(source)
    await forge({ ...release, files: { ...release.files, 'bin/nodekeep': '#!/bin/sh\necho forged\n' } })
    await assertDownloadFails(source, version, ['UPSTREAM_ERROR'])
  })

  check('a release that somebody has changed is refused', async ({ source, publish, tamper }) => {
    await publish(releaseOf('1.1.0'))
    const { version } = await newest(source)
    await tamper()
    await assertDownloadFails(source, version, ['UPSTREAM_ERROR'])
  })

  for (const restarted of [false, true]) {
    const when = restarted ? ', also after a restart' : ''
    check(`an older state than the node has seen is refused${when}`, async (subject) => {
      await subject.publish(releaseOf('1.1.0'))
      await subject.publish(releaseOf('1.2.0'))
      assert.equal((await newest(subject.source)).version, '1.2.0')
      await subject.replay()
      const source = restarted ? await subject.reopen() : subject.source
      await assertFails(source.latest('1.0.0', never), ['UPSTREAM_ERROR'], 'a check of an older state')
    })
  }

  check('a source that was opened again works on', async ({ source, publish, reopen }) => {
    await publish(releaseOf('1.1.0'))
    assert.equal((await newest(source)).version, '1.1.0')
    const reopened = await reopen()
    await publish(releaseOf('1.2.0'))
    assert.equal((await newest(reopened)).version, '1.2.0')
  })
}
