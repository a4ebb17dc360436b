import fc from 'fast-check'
import t from 'tap'
import { reconcile, type Situation } from '../../src/client/index.ts'

type Common = NonNullable<Situation['common']>
type Local = NonNullable<Situation['local']>
type Remote = NonNullable<Situation['remote']>

const none = null
const commonFolder: Common = { type: 'directory', isStale: false }
const common = (sha256: string): Common => ({ type: 'file', sha256, revision: `r-${sha256}`, isStale: false })
const stale = (of: Common): Common => ({ ...of, isStale: true })
const same = (sha256: string, modified = 1): Local => ({ type: 'file', isCommon: true, sha256, modified })
const file = (sha256: string | null, modified = 1): Local => ({
  type: 'file',
  isCommon: false,
  sha256,
  modified,
})
const remote = (sha256: string, isHashed = true, modified = 1): Remote => ({
  type: 'file',
  revision: `r-${sha256}`,
  sha256: isHashed ? sha256 : null,
  modified,
})
const empty = { type: 'directory', isEmpty: true } as const
const full = { type: 'directory', isEmpty: false } as const

const table: [what: string, Situation['common'], Situation['local'], Situation['remote'], step: string][] = [
  ['nothing anywhere', none, none, none, 'nothing'],
  ['gone on both sides', common('a'), none, none, 'forget'],
  ['the same', common('a'), same('a'), remote('a'), 'nothing'],
  ['the same folder', commonFolder, full, full, 'nothing'],

  ['new here', none, file(null), none, 'upload'],
  ['new there', none, none, remote('a'), 'download'],
  ['new folder here', none, empty, none, 'makeRemoteFolder'],
  ['new folder there', none, none, full, 'makeLocalFolder'],
  ['new folder on both sides', none, full, empty, 'recordCommon'],

  ['edited here', common('a'), file('b'), remote('a'), 'upload'],
  ['touched here, hash unknown', common('a'), file(null), remote('a'), 'compare local'],
  ['touched here', common('a'), file('a'), remote('a'), 'recordCommon'],
  ['edited there', common('a'), same('a'), remote('b'), 'download'],
  ['edited there, touched here', common('a'), file('a'), remote('b'), 'download'],
  ['edited on both sides', common('a'), file('b'), remote('c'), 'conflict remote'],
  ['edited alike on both sides', common('a'), file('b'), remote('b'), 'recordCommon'],
  [
    'edited on both sides, hashes unknown',
    common('a'),
    file(null),
    remote('c', false),
    'compare local remote',
  ],

  ['deleted there', common('a'), same('a'), none, 'removeLocal'],
  ['deleted there, touched here', common('a'), file('a'), none, 'removeLocal'],
  ['deleted there, perhaps edited here', common('a'), file(null), none, 'compare local'],
  ['deleted there, edited here', common('a'), file('b'), none, 'upload'],
  ['deleted here', common('a'), none, remote('a'), 'removeRemote'],
  ['deleted here, edited there', common('a'), none, remote('b'), 'download'],
  ['empty folder deleted there', commonFolder, empty, none, 'removeLocal'],
  ['filled folder deleted there', commonFolder, full, none, 'nothing'],
  ['empty folder deleted here', commonFolder, none, empty, 'removeRemote'],
  ['filled folder deleted here', commonFolder, none, full, 'nothing'],

  ['linked anew, the same', none, file('a'), remote('a'), 'recordCommon'],
  ['linked anew, hashes unknown', none, file(null), remote('a', false), 'compare local remote'],
  ['linked anew, others', none, file('a'), remote('b'), 'conflict remote'],

  ['restored, gone there', stale(common('a')), same('a'), none, 'upload'],
  ['restored, gone here', stale(common('a')), none, remote('a'), 'download'],
  ['restored, folder gone there', stale(commonFolder), empty, none, 'makeRemoteFolder'],
  ['restored, folder gone here', stale(commonFolder), none, empty, 'makeLocalFolder'],
  ['restored, the same', stale(common('a')), same('a'), remote('a'), 'recordCommon'],
  ['restored, edited here', stale(common('a')), file('b'), remote('a'), 'recordRemote'],
  ['restored, older there', stale(common('a')), same('a', 2), remote('o', true, 1), 'conflict local'],
  ['restored, newer there', stale(common('a')), same('a', 1), remote('n', true, 2), 'conflict remote'],
  ['restored, others on both sides', stale(common('a')), file('b', 9), remote('c'), 'conflict remote'],

  ['file replaced by a folder here', common('a'), full, remote('a'), 'removeRemote'],
  ['file replaced by a folder here, edited there', common('a'), full, remote('b'), 'conflict remote'],
  ['file replaced by a folder there', common('a'), same('a'), full, 'removeLocal'],
  ['file replaced by a folder there, edited here', common('a'), file('b'), full, 'conflict remote'],
  ['folder replaced by a file here', commonFolder, file('a'), empty, 'removeRemote'],
  ['folder replaced by a file here, still filled there', commonFolder, file('a'), full, 'conflict remote'],
  ['folder replaced by a file there', commonFolder, empty, remote('a'), 'removeLocal'],
  ['folder replaced by a file there, still filled here', commonFolder, full, remote('a'), 'conflict remote'],
  ['new file here, new folder there', none, file('a'), full, 'conflict remote'],
  ['new folder here, new file there', none, full, remote('a'), 'conflict remote'],
]

t.test('each situation has its step', async (t) => {
  for (const [what, common, local, remote, step] of table) {
    t.equal(said({ common, local, remote, unansweredUploads: new Set(), isOpenBelow: false }), step, what)
  }
})

t.test('a folder and a file wait for what is below', async (t) => {
  for (const [local, remote_] of [
    [full, remote('a')],
    [file('a'), full],
  ] as const) {
    const situation = {
      common: commonFolder,
      local,
      remote: remote_,
      unansweredUploads: new Set<string>(),
      isOpenBelow: true,
    }
    t.equal(said(situation), 'nothing')
  }
})

t.test('an upload whose answer was lost is no conflict', async (t) => {
  const situation = (local: Situation['local'], isHashed = true) => ({
    common: common('a'),
    local,
    remote: remote('b', isHashed),
    unansweredUploads: new Set(['a', 'b']),
    isOpenBelow: false,
  })
  t.equal(said(situation(file('c'))), 'recordRemote')
  t.equal(said(situation(none)), 'recordRemote')
  t.equal(said(situation(none, false)), 'compare remote')
  t.equal(said(situation(full)), 'recordRemote')
  t.equal(said({ ...situation(none), common: none, remote: none }), 'forget', 'it did not arrive')
})

const hash = fc.constantFrom('a', 'b', 'c')
const time = fc.integer({ min: 1, max: 3 })
const anyCommon = fc.oneof(
  fc.constant(null),
  fc.record({ type: fc.constant('directory' as const), isStale: fc.boolean() }),
  fc.record({ type: fc.constant('file' as const), sha256: hash, isStale: fc.boolean() }).map((file) => ({
    ...file,
    revision: `r-${file.sha256}`,
  })),
)
const folder = fc.record({ type: fc.constant('directory' as const), isEmpty: fc.boolean() })
const anySituation: fc.Arbitrary<Situation> = anyCommon.chain((common) =>
  fc.record({
    common: fc.constant(common),
    local: fc.oneof(
      fc.constant(null),
      folder,
      fc.record({
        type: fc.constant('file' as const),
        isCommon: fc.constant(false),
        sha256: fc.option(hash),
        modified: time,
      }),
      ...(common?.type === 'file' ? [time.map((modified) => same(common.sha256, modified))] : []),
    ),
    remote: fc.oneof(
      fc.constant(null),
      folder,
      fc
        .tuple(hash, fc.boolean(), time)
        .map(([sha256, isHashed, modified]) => remote(sha256, isHashed, modified)),
    ),
    unansweredUploads: fc.array(hash).map((hashes) => new Set(hashes)),
    isOpenBelow: fc.boolean(),
  }),
)

t.test('nothing is removed here but the common state, after it was removed or replaced there', async (t) => {
  const property = fc.property(anySituation, (situation) => {
    if (reconcile(situation).do !== 'removeLocal') return true
    const { common, local, remote } = situation
    if (common === null || common.isStale || local === null || local.type !== common.type) return false
    if (remote !== null && remote.type === common.type) return false
    return local.type === 'directory'
      ? local.isEmpty
      : common.type === 'file' && local.sha256 === common.sha256
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 4200, numRuns: 5000 }))
})

t.test('nothing is removed there but the common state, after it was removed or replaced here', async (t) => {
  const property = fc.property(anySituation, (situation) => {
    if (reconcile(situation).do !== 'removeRemote') return true
    const { common, local, remote } = situation
    if (common === null || common.isStale || remote === null || remote.type !== common.type) return false
    if (local !== null && local.type === common.type) return false
    return remote.type === 'directory'
      ? remote.isEmpty
      : common.type === 'file' && remote.revision === common.revision
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 4200, numRuns: 5000 }))
})

t.test('a file is overwritten only by a version that was made from it', async (t) => {
  const property = fc.property(anySituation, (situation) => {
    const { common, local, remote } = situation
    const step = reconcile(situation).do
    const base = common?.type === 'file' && !common.isStale ? common : null
    if (step === 'upload' && remote !== null)
      return remote.type === 'file' && remote.revision === base?.revision
    if (step === 'download' && local !== null) return local.type === 'file' && local.sha256 === base?.sha256
    return true
  })
  t.doesNotThrow(() => fc.assert(property, { seed: 4200, numRuns: 5000 }))
})

function said(situation: Situation): string {
  const step = reconcile(situation)
  if (step.do === 'compare') return `compare ${step.sides.join(' ')}`
  return step.do === 'conflict' ? `conflict ${step.keep}` : step.do
}
