import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { ignoreRules, readIgnoreFile } from '../../src/client/ignore-rules.ts'
import type { Disk } from '../../src/client/ports.ts'

t.test('rules have the syntax of gitignore, and the folder of a client is always left alone', async (t) => {
  const ignores = ignoreRules('# a comment\n*.tmp\n!keep.tmp\n/build/\n**/cache/**/*.bin\n')
  for (const path of ['/a.tmp', '/a/b.tmp', '/cache/a/b.bin', '/.nodekeep-sync', '/a/.Nodekeep-Sync/b'])
    t.ok(ignores(path, false), path)
  t.ok(ignores('/build', true))
  for (const path of ['/keep.tmp', '/build', '/a/build', '/a.TMP', '/.nodekeepignore'])
    t.notOk(ignores(path, false), path)
})

t.test('rules remember no paths', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const ignores = ignoreRules('*.tmp\n')
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  for (let at = 0; at < 200_000; at++) ignores(`/a folder/a photo of the day ${at}.jpg`, false)
  const grown = used() - before
  t.ok(grown < 10_000_000, `they take ${Math.round(grown / 1e6)} MB more`)
})

t.test('rules that cannot be used stop the client, because what they name would be sent', async (t) => {
  t.throws(() => ignoreRules('a\n**/a/**/a/**/b'), { kind: 'stop', message: /"\*\*" more than twice/ })
  const stat = async () =>
    ({ type: 'file', size: 65_537, modified: 0, identity: '', moveIdentity: '' }) as const
  const read = readIgnoreFile({ stat } as Partial<Disk> as Disk)
  await t.rejects(read, { kind: 'stop', message: /more than 65536 bytes/ })
})
