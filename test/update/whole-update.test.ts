import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { badReleases } from './bad-releases.ts'
import { InstalledNode } from './installed-node.ts'
import { serveReleases } from './release-server.ts'

// The packages are packed here outside of a full run.
t.setTimeout(300_000)

const work = await mkdtemp(join(tmpdir(), 'nodekeep-whole-update-'))
t.teardown(() => rm(work, { recursive: true, force: true }))
const server = await serveReleases(work)
t.teardown(() => server.close())
const node = await InstalledNode.install(server)
t.teardown(() => node.remove())

t.test('a node updates itself, and goes back with everything that was written', async (t) => {
  t.equal(await node.version(), '0.1.0')
  await node.write()
  await server.publish('0.2.0')
  t.same(await node.ask('/api/update/check', { method: 'POST' }), {
    status: 200,
    body: { updateAvailable: true, latestVersion: '0.2.0' },
  })
  t.match(await node.ask('/api/update/status'), {
    body: { currentVersion: '0.1.0', latestVersion: '0.2.0', releaseNotes: 'Notes of 0.2.0' },
  })

  const there = await node.during(async () => {
    t.match(await node.update(), { status: 200, body: { success: true } })
    t.match(await node.attempt(1), { from: '0.1.0', to: '0.2.0', result: 'installed', reason: null })
  })
  t.same(there.failures, [])
  t.comment(`longest of ${there.count} answers: ${Math.round(there.longestMs)} ms`)
  t.equal(await node.version(), '0.2.0')
  t.match(await node.ask('/api/update/details'), { body: { wayBack: { version: '0.1.0' } } })
  t.match(await node.lost(), { lost: [] })

  const back = await node.during(async () => {
    t.match(await node.ask('/api/update/back', { method: 'POST' }), { status: 200 })
    t.match(await node.attempt(2), {
      from: '0.2.0',
      to: '0.1.0',
      result: 'went back',
      reason: 'The owner of the node asked for it.',
    })
  })
  t.same(back.failures, [])
  t.equal(await node.version(), '0.1.0')
  const { lost, accepted } = await node.lost()
  t.same(lost, [])
  t.ok(accepted > 10, 'clients have written meanwhile')
})

// The others take longer: test/faults/update-bad.faults.ts.
for (const [index, { name, change, result, reason }] of badReleases.slice(0, 2).entries()) {
  t.test(`a release that ${name} is left by itself, and no accepted write is lost`, async (t) => {
    await server.publish(`0.3.${index}`, change)
    const count = (await node.history()).length
    const { failures } = await node.during(async () => {
      t.match(await node.update(), { status: 200, body: { success: true } })
      t.match(await node.attempt(count + 1), { result, reason })
    })
    // A version that dies takes its open requests along.
    if (result !== 'went back') t.same(failures, [])
    t.equal(await node.version(), '0.1.0')
    t.same((await node.lost()).lost, [])
  })
}
