import assert from 'node:assert/strict'
import { onSmallDisk } from '@nodekeep/kernel/testing'
import { type BadRelease, badReleases } from '../update/bad-releases.ts'
import { releasesOfRun } from '../update/releases-of-run.ts'
import type { Fault, Round } from './fault.ts'
import { configuration, leaveBadRelease } from './fixtures/bad-release-round.ts'
import { nextVersion, onInstalledNode } from './fixtures/node-of-round.ts'

/** Enough for a node and an update of it. */
const diskSize = '1400m'

/** Lets a node on a disk of its own leave a bad release. */
async function onFullDisk(bad: BadRelease, { log }: Round): Promise<void> {
  const { archive, url, publish } = await releasesOfRun()
  await publish(nextVersion(), bad.change)
  process.env.SMALL_DISK_ROUND = JSON.stringify({ archive, url, name: bad.name })
  const script = new URL('fixtures/small-disk-round.ts', import.meta.url)
  const found = (await onSmallDisk(diskSize, script)) as { problem: string | null; lines: string[] } | null
  assert.ok(found, 'Nothing can be mounted here.')
  for (const line of found.lines) log(line)
  assert.equal(found.problem, null)
}

export default {
  name: 'A node leaves a release that does not work by itself, says why in one sentence, and loses no accepted write.',
  defaultRounds: badReleases.length,
  roundSeconds: 600,
  async round(round: Round) {
    const bad = badReleases[round.seed % badReleases.length]
    assert.ok(bad)
    round.log(`The release ${bad.name}.`)
    if (bad.onFullDisk === true) return onFullDisk(bad, round)
    await onInstalledNode(round, configuration, async (node, server) => {
      await server.publish(nextVersion(), bad.change)
      await leaveBadRelease(node, bad, round)
    })
  },
} satisfies Fault
