import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { badReleases } from '../update/bad-releases.ts'
import type { InstalledNode } from '../update/installed-node.ts'
import type { Fault, Round } from './fault.ts'
import { nextVersion, onInstalledNode } from './fixtures/node-of-round.ts'

/** Gives a node a public address, which leads to its own port. */
async function usePublicAddress(node: InstalledNode): Promise<void> {
  const file = join(node.folder, 'nodekeep.json')
  const configuration = JSON.parse(await readFile(file, 'utf8'))
  const publicUrl = `http://localhost:${node.url.port}`
  const server = { ...configuration.server, publicUrl }
  await writeFile(file, JSON.stringify({ ...configuration, server }))
  await node.end('SIGTERM')
  node.start()
  await node.answers()
}

export default {
  name: 'A node leaves a release that does not work by itself, says why in one sentence, and loses no accepted write.',
  defaultRounds: badReleases.length,
  roundSeconds: 600,
  async round(round: Round) {
    const { seed, signal, log } = round
    const bad = badReleases[seed % badReleases.length]
    assert.ok(bad)
    log(`The release ${bad.name}.`)
    const configuration = {
      health: { required: ['database', 'storage-local'] },
      releases: { trialSeconds: 45 },
    }
    await onInstalledNode(round, configuration, async (node, server) => {
      await server.publish(nextVersion(), bad.change)
      if (bad.atPublicAddress === true) await usePublicAddress(node)
      await node.write()
      const { failures, longestMs } = await node.during(async () => {
        const { status, body } = await node.update()
        if (bad.result === 'refused') assert.match(body.message, bad.reason)
        else assert.equal(status, 200, body.message)
        await node.attempt(1, signal)
      })
      log(`The longest answer took ${Math.round(longestMs)} ms.`)
      const attempt = await node.attempt(bad.onProbation === true ? 2 : 1, signal)
      assert.equal(attempt.result, bad.result === 'refused' ? 'failed' : bad.result)
      assert.match(attempt.reason ?? '', bad.reason)
      await node.answers(signal)
      if (bad.result !== 'went back') assert.deepEqual(failures, [])
      assert.equal(await node.version(), '0.1.0')
      const { lost, accepted } = await node.lost()
      assert.deepEqual(lost, [])
      assert.ok(accepted > 0)
    })
  },
} satisfies Fault
