import { runCommand, type TestUser } from '@nodekeep/kernel/testing'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, put } from '../fixtures/files-node.ts'

function setQuota(by: TestUser, uuid: string, quota: unknown): Promise<Response> {
  return by.fetch(`/api/files/quotas/${uuid}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ quota }),
  })
}

t.test('the owner sets quotas of users, which hold over a restart and go with the user', async (t) => {
  const services = captureServices()
  const dataFolder = t.testdir()
  const options = { dataFolder, plugins: [services.plugin] }
  const before = await createFilesNode({ quota: '1MB' }, options)
  const [owner, ada] = [await before.signIn('owner'), await before.signIn()]
  const { uuid } = ada.user
  const set = async (quota: unknown) => {
    const answer = await setQuota(owner, uuid, quota)
    return answer.ok
      ? await answer.json()
      : [answer.status, ((await answer.json()) as { message: string }).message]
  }
  const common = { uuid, username: ada.user.username }
  t.match(await set('2.5 GB'), { ...common, quota: 2.5e9, hasOwnQuota: true })
  t.match(await set(0), { quota: 0, hasOwnQuota: true })
  t.equal((await put(ada, '/a', 'x')).status, 507)
  t.match(await set('None'), { quota: null, hasOwnQuota: true })
  t.match(await (await ada.fetch('/api/files/usage')).json(), { quota: null })
  t.match(await set('default'), { quota: 1e6, hasOwnQuota: false })
  t.match(await (await ada.fetch('/api/files/usage')).json(), { quota: { bytes: 1e6, taken: 0 } })
  for (const wrong of ['much', '5', '-1 GB', '', '9e99 GB'])
    t.match(await set(wrong), [400, /such as "50 GB", "none".*"default"/])
  for (const wrong of [-1, 1.5, true, 2 ** 53, 1e300]) t.match(await set(wrong), [400])
  t.equal((await setQuota(ada, uuid, 'none')).status, 403, 'a user does not set it')
  t.equal((await setQuota(owner, crypto.randomUUID(), 'none')).status, 404)
  await set('3 kB')
  await before.stop()

  const after = await createFilesNode({ quota: '1MB' }, options)
  t.teardown(() => after.stop())
  const again = await after.signIn('owner')
  const all = async () =>
    (await (await again.fetch('/api/files/usage/all')).json()) as NodeAnswers['GET /api/files/usage/all']
  const ofAda = async () => (await all()).users.find((user) => user.uuid === uuid)
  t.match(await ofAda(), { quota: 3000, hasOwnQuota: true })
  t.match(
    (await all()).users.find((user) => user.uuid === again.user.uuid),
    {
      quota: 1e6,
      hasOwnQuota: false,
    },
  )
  await services.userData.get('files')?.erase(uuid, new AbortController().signal)
  t.match(await ofAda(), { quota: 1e6, hasOwnQuota: false })
})

t.test('the command line shows and sets quotas', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({}, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const folder = t.testdir({ 'nodekeep.json': JSON.stringify({ plugins: { files: true } }) })
  const run = (...args: string[]) =>
    runCommand([...args, '--config', `${folder}/nodekeep.json`, '--data', node.dataFolder], { cwd: folder })
  const owner = await node.signIn('owner')
  await put(owner, '/file', 'x'.repeat(1500))
  await services.untilIndexed(owner)
  const { username, uuid } = owner.user
  t.match(await run('quota', username), { code: 0, stdout: /1\.5 kB.*none \(default\)/s })
  t.match(await run('quota', username, '50GB'), { code: 0, stdout: /50 GB/ })
  t.match(JSON.parse((await run('quota', uuid, '--json')).stdout), {
    username,
    bytes: 1500,
    quota: 5e10,
    hasOwnQuota: true,
  })
  t.match(await run('usage'), { stdout: /1\.5 kB of 50 GB/ })
  t.match(await run('usage', '--all'), { stdout: /QUOTA.*50 GB/s })
  t.match(await run('quota', username, 'lots'), { code: 1, stderr: /such as "50 GB"/ })
  t.match(await run('quota', 'nobody'), { code: 1, stderr: /no user "nobody"/ })
})
