import { existsSync, readlinkSync } from 'node:fs'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { supervisedNode } from './supervised-node.ts'

t.setTimeout(240_000)
const node = await supervisedNode(t)
const { data, releases, supervisor } = node
const databases = ['state.sqlite', 'plugins/switchable/rows.sqlite']

/** The rows that tests wrote, beside those of starts. */
async function rows(): Promise<string[]> {
  return (await node.get<string[]>('/rows')).filter((row) => !row.startsWith('start'))
}

// Each step begins with the node that the step before has left.
for (const [step, to, version, result] of [
  ['preparing', '2.0.0', '1.0.0', 'failed'],
  ['trial', '2.1.0', '1.0.0', 'failed'],
  ['restoring', '2.2.0', '1.0.0', 'failed'],
  ['admitting', '2.3.0', '2.3.0', 'installed'],
  ['going back', '1.0.0', '1.0.0', 'went back'],
] as const) {
  t.test(`a supervisor that was killed while ${step} ends the change at its next start`, async (t) => {
    const { length } = await node.history()
    await node.post('/rows', { text: `before ${step}` })
    const before = await rows()
    await supervisor.end('SIGTERM')
    const copies = join(releases, `before-${to}`)
    for (const path of databases) {
      await mkdir(join(copies, path, '..'), { recursive: true })
      await cp(join(data, path), join(copies, path))
    }
    const file = new DatabaseSync(join(data, 'plugins/switchable/rows.sqlite'))
    file.prepare('INSERT INTO rows VALUES (?)').run(`written while ${step}`)
    file.close()
    const first = join(node.folder, 'first')
    const isBack = step === 'going back'
    if (!isBack) await node.writeRelease(join(releases, to), to)
    const change = {
      step,
      from: isBack ? '2.3.0' : '1.0.0',
      fromPath: isBack ? join(releases, '2.3.0') : first,
      to,
      toPath: isBack ? first : join(releases, to),
      startedAt: new Date().toISOString(),
      reason: null,
      databases,
      closedBy: null,
    }
    await writeFile(join(releases, 'state.json'), JSON.stringify({ format: 1, change, admission: null }))
    node.start()
    await node.runs(version)
    t.match(await node.attempt(length + 1), { from: change.from, to, result })
    const isRestored = step === 'trial' || step === 'restoring'
    t.strictSame(await rows(), isRestored ? before : [...before, `written while ${step}`])
    t.equal(readlinkSync(join(releases, 'current')), version === '1.0.0' ? first : version)
    while (existsSync(copies)) await delay(20)
  })
}
