import { runCommand } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { createSearchNode, put, untilComplete } from './fixtures/search-node.ts'

test('the owner searches on the command line', async (t) => {
  const node = await createSearchNode()
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const cwd = t.testdir({
    'nodekeep.json': JSON.stringify({ extends: 'nodekeep:minimal', plugins: { search: true } }),
  })
  const run = (...args: string[]) => runCommand(['search', ...args, '--data', node.dataFolder], { cwd })
  await put(owner, '/a/kiwi.txt', 'a green fruit')
  await put(owner, '/b/fruits.md', 'apple, kiwi')
  await untilComplete(owner)

  const all = await run('find', 'kiwi', '--json')
  t.equal(all.code, 0, all.stderr)
  t.strictSame(
    JSON.parse(all.stdout).map(({ path }: { path: string }) => path),
    ['/a/kiwi.txt', '/b/fruits.md'],
  )
  const some = await run('find', 'green', 'frui', '--in', '/a', '--type', 'text')
  t.match(some.stdout, '/a/kiwi.txt')
  t.notMatch(some.stdout, 'fruits.md')
  t.match((await run('find', 'kiwi', '--limit', '1', '--json')).stdout, 'kiwi.txt')
  t.match((await run('find', 'nothing')).stdout + (await run('find', 'nothing')).stderr, 'Nothing is found.')
  t.equal((await run('find', 'kiwi', '--limit', 'x')).code, 1)

  const status = JSON.parse((await run('status', '--json')).stdout)
  t.strictSame([status.indexed, status.waiting, status.failed, status.isComplete], [2, 0, {}, true])
})
