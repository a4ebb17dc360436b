import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Fault, Round } from './fault.ts'
import { nextVersion, onInstalledNode } from './fixtures/node-of-round.ts'

const run = promisify(execFile)

export default {
  name: 'An installed service takes the former release when the supervisor of a newer one does not work, with all accepted writes.',
  defaultRounds: 1,
  roundSeconds: 300,
  async round(round: Round) {
    const { log, signal } = round
    await onInstalledNode(round, {}, async (node, server) => {
      const root = join(node.folder, 'root')
      const current = join(node.releases, 'current/bin/nodekeep')
      await run(current, ['service', 'install', '--root', root, '--data', join(node.folder, 'data')])
      const launcher = join(root, 'usr/local/lib/nodekeep/nodekeep-service')
      await node.end('SIGTERM')
      node.start(launcher, [node.releases])
      await node.answers(signal)
      // It passes its trial, in which the supervisor of the former release runs it.
      const version = nextVersion()
      await server.publish(version, (folder) =>
        rm(join(folder, 'node_modules/@nodekeep/update/dist/supervisor/supervisor.js')),
      )
      const { status, body } = await node.update()
      assert.equal(status, 200, body.message)
      assert.equal((await node.attempt(1, signal)).result, 'installed')
      assert.equal(await node.version(), version)
      await node.write()
      await node.end('SIGTERM')
      for (const start of [1, 2, 3]) {
        node.start(launcher, [node.releases])
        const [code] = await node.ended()
        log(`The start ${start} ended with the code ${code}.`)
        assert.equal(code, 1)
      }
      node.start(launcher, [node.releases])
      await node.answers(signal)
      assert.equal(await node.version(), '0.1.0')
      const { result, reason } = await node.attempt(2, signal)
      assert.equal(result, 'went back')
      assert.equal(reason, 'Its supervisor has failed 3 times, one after the other.')
      const { lost, accepted } = await node.lost()
      assert.deepEqual(lost, [])
      assert.equal(accepted, 1)
    })
  },
} satisfies Fault
