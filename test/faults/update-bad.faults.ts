import assert from 'node:assert/strict'
import { badReleases } from '../update/bad-releases.ts'
import { InstalledNode } from '../update/installed-node.ts'
import type { Fault, Round } from './fault.ts'
import { releasesOfRun } from './fixtures/releases-of-run.ts'

let published = 0

export default {
  name: 'A node leaves a release that does not work by itself, says why in one sentence, and loses no accepted write.',
  defaultRounds: badReleases.length,
  roundSeconds: 400,
  async round({ seed, signal, log }: Round) {
    const bad = badReleases[seed % badReleases.length]
    assert.ok(bad)
    log(`The release ${bad.name}.`)
    const server = await releasesOfRun()
    const node = await InstalledNode.install(server, {
      health: { required: ['database', 'storage-local'] },
      releases: { trialSeconds: 45 },
    })
    try {
      const version = `0.3.${published++}`
      await server.publish(version, bad.change)
      await node.write()
      const { failures, longestMs } = await node.during(async () => {
        const { status, body } = await node.update()
        if (bad.result === 'refused') assert.match(body.message, bad.reason)
        else assert.equal(status, 200, body.message)
        const attempt = await node.attempt(1, signal)
        assert.equal(attempt.result, bad.result === 'refused' ? 'failed' : bad.result)
        assert.match(attempt.reason ?? '', bad.reason)
      })
      log(`The longest answer took ${Math.round(longestMs)} ms.`)
      if (bad.result !== 'went back') assert.deepEqual(failures, [])
      assert.equal(await node.version(), '0.1.0')
      const { lost, accepted } = await node.lost()
      assert.deepEqual(lost, [])
      assert.ok(accepted > 0)
    } catch (error) {
      log(node.output)
      throw error
    } finally {
      await node.remove()
    }
  },
} satisfies Fault
