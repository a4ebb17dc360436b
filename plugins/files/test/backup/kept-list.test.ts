import t from 'tap'
import { keptIn } from '../../src/backup/kept-list.ts'
import { Mounts } from '../../src/mounts/mounts.ts'

const user = '11111111-1111-4111-8111-111111111111'
const other = '22222222-2222-4222-8222-222222222222'
const backends = { get: () => undefined, has: () => false, names: () => [] }
const mounts = new Mounts({ '/': 'local', '/cold': 'memory' }, backends as never, { info() {}, warn() {} })
const line = {
  kept: `local/kept/${user}/name`,
  type: 'file',
  of: `local/${user}/docs/a`,
  path: '/docs/a',
  at: '2026-11-29T06:00:00.000Z',
  maker: { kind: 'session', id: 'one' },
  group: 'run',
}

t.test('a line of the list of a backup is read', async (t) => {
  t.match(keptIn(JSON.stringify(line), mounts), {
    userUuid: user,
    storage: 'local',
    keptName: 'name',
    of: { userUuid: user, path: '/docs/a' },
    path: '/docs/a',
    at: Date.parse(line.at),
    maker: JSON.stringify(line.maker),
    group: 'run',
  })
  const inTrash = { ...line, of: `local/kept/${user}/folder/in/a`, maker: null, group: null }
  t.match(keptIn(JSON.stringify(inTrash), mounts), {
    of: { storage: 'local', keptName: 'folder/in/a' },
    maker: null,
    group: null,
  })
})

t.test('a forged line brings nothing into the index that a node does not write', async (t) => {
  const forged: Record<string, unknown> = {
    kept: [`local/${user}/name`, `nowhere/kept/${user}/name`, `local/kept/${user}/name/in`, 'kept', 1],
    type: ['link', undefined],
    path: ['docs', '/../x', '/a//b', null],
    at: ['soon', null],
    maker: [{ kind: 'god', id: 'one' }, { kind: 'session' }, 'ada'],
    group: ['two words', 1],
    of: [1, {}],
  }
  for (const [key, values] of Object.entries(forged))
    for (const value of values as unknown[])
      t.equal(keptIn(JSON.stringify({ ...line, [key]: value }), mounts), null, `${key}: ${value}`)
  for (const text of ['', 'no JSON', '[]', 'null']) t.equal(keptIn(text, mounts), null, text)
  const ofOther = { ...line, of: `local/${other}/docs/a` }
  t.match(keptIn(JSON.stringify(ofOther), mounts), { of: null }, 'no version of a file of another user')
})
