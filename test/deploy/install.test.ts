import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, copyFile, cp, lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, matchesGlob, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { freePort } from '../free-ports.ts'
import { root } from '../run/command.ts'
import { readStages, textsOf } from './dockerfile.ts'
import { changed, readRecipe } from './proxies.ts'

/** The place of the installation in all recipes. */
const place = '/opt/nodekeep'
/** The Debian user "nobody". The tests may run as root, the node should not. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const dockerfile = await readRecipe('Dockerfile')
const stages = readStages(dockerfile)
const [build, image] = stages
if (build === undefined || image === undefined) throw new Error('The Dockerfile has two stages.')
const folder = await mkdtemp(join(tmpdir(), 'nodekeep-deploy-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
await chmod(folder, 0o755)
const installed = join(folder, 'nodekeep')
const bin = join(folder, 'bin')
// Another user may not read the folder of this Node.
await mkdir(bin)
await copyFile(process.execPath, join(bin, 'node'))
await copyContext(installed)

t.test('the commands of the Dockerfile install production only, below 280 MB', async (t) => {
  t.equal(stages.length, 2)
  t.same(textsOf(build, 'COPY'), ['. .'])
  t.same(textsOf(image, 'COPY'), [`--from=${build.name} ${place} ${place}`])
  for (const { image } of stages) t.match(image, /^node:2[4-9]-slim$/)
  for (const command of textsOf(build, 'RUN')) await shell(command, installed)
  t.equal(await exists(join(installed, 'node_modules/tap')), false, 'no tool of the tests is there')
  const { stdout } = await promisify(execFile)('du', ['-sm', join(installed, 'node_modules')])
  t.ok(Number.parseInt(stdout, 10) < 280, `${stdout.split('\t')[0]} MB`)
})

t.test('the image runs the node as an ordinary user, with a health check and a volume', async (t) => {
  const data = join(folder, 'data')
  const here = { [place]: installed, '/usr/local/bin': bin, '/data': data }
  const [setUp = ''] = textsOf(image, 'RUN')
  const owner = nobody.uid === undefined ? '' : ' -o nobody -g nogroup'
  await shell(changed(setUp, { ...here, ' -o node -g node': owner }), folder)

  t.same(textsOf(image, 'USER'), ['node'])
  t.same(textsOf(image, 'VOLUME'), ['/data'])
  const port = await freePort()
  const settings = changed(textsOf(image, 'ENV').join(' '), { '/data': data, '0.0.0.0': '127.0.0.1' })
  const env = {
    ...Object.fromEntries(settings.split(' ').map((setting) => setting.split('=', 2))),
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: data,
    NODEKEEP_SERVER__PORT: String(port),
  }
  t.match(env, { NODE_ENV: 'production', NODEKEEP_DATA: data })
  const [entry = []] = textsOf(image, 'ENTRYPOINT').map((list) =>
    JSON.parse(changed(list, { [place]: installed })),
  )
  const [start = []] = textsOf(image, 'CMD').map((list) => JSON.parse(list))
  const health = textsOf(image, 'HEALTHCHECK')[0]?.replace(/^.* CMD /, '') ?? ''
  const [probe, ...probeArgs] = JSON.parse(changed(health, { ':4200/': `:${port}/` }))
  const check = () => spawnSync(probe, probeArgs, { env }).status
  t.equal(check(), 1, 'the health check fails without a node')

  const node = await startCommand(t, [...entry, ...start], env)
  t.equal(check(), 0, 'the health check passes')
  const session = ['session', 'create', '--wallet', '0x1111111111111111111111111111111111111111']
  const { stdout } = await promisify(execFile)('nodekeep', session, { env, cwd: folder, ...nobody })
  t.match(stdout, /^nks_/, '"docker exec NAME nodekeep session create" works')
  node.kill('SIGTERM')
  t.same(await once(node, 'exit'), [0, null], 'docker stop ends it in order')
})

t.test('the compose file runs the image of the recipe', async (t) => {
  const compose = await readRecipe('compose.yaml')
  const [, context = '', file = ''] = /context: (\S+)\n +dockerfile: (\S+)/.exec(compose) ?? []
  const recipes = join(root, 'examples/deploy')
  t.same([resolve(recipes, context), join(root, file)], [resolve(root), join(recipes, 'Dockerfile')])
  const [, inside] = /"127\.0\.0\.1:4200:(\d+)"/.exec(compose) ?? []
  t.same(textsOf(image, 'EXPOSE'), [inside], 'only this machine reaches it')
  const [, volume] = /- data:(\S+)/.exec(compose) ?? []
  t.same(textsOf(image, 'VOLUME'), [volume])
  t.match(compose, /^ {4}restart: unless-stopped$/m)
  t.match(compose, /^ {6}NODEKEEP_SUPERVISED: "true"$/m)
})

t.test('the unit for systemd starts the node with the configuration of the recipe', async (t) => {
  const unit = await readRecipe('nodekeep.service')
  const port = await freePort()
  const home = join(folder, 'unit')
  await mkdir(join(home, 'etc'), { recursive: true })
  await mkdir(join(home, 'lib'))
  if (nobody.uid !== undefined) await chown(join(home, 'lib'), nobody.uid, nobody.gid)
  await writeFile(
    join(home, 'etc/nodekeep.json'),
    changed(await readRecipe('nodekeep.json'), {
      '/var/lib/nodekeep': join(home, 'lib'),
    }),
  )
  const here = changed(unit, {
    [place]: installed,
    '/etc/nodekeep': join(home, 'etc'),
    '/var/lib/nodekeep': join(home, 'lib'),
    '/var/cache/nodekeep': join(home, 'lib/cache'),
    '/usr/bin/node': join(bin, 'node'),
  })
  const values = (key: string) =>
    [...here.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value ?? '')
  const env = {
    ...Object.fromEntries(values('Environment').map((setting) => setting.split('=', 2))),
    PATH: process.env.PATH,
    PORT: String(port),
  }
  t.match(env, { NODEKEEP_CONFIG: join(home, 'etc/nodekeep.json'), NODEKEEP_SUPERVISED: 'true' })
  const node = await startCommand(t, (values('ExecStart')[0] ?? '').split(' '), env)
  // This process stands for the proxy.
  const headers = { 'x-forwarded-host': 'node.example.org', 'x-forwarded-proto': 'https' }
  const nonce = await fetch(`http://127.0.0.1:${port}/auth/siwe/nonce`, { headers })
  t.match(await nonce.json(), { domain: 'node.example.org', uri: 'https://node.example.org' })
  t.ok(await exists(join(home, 'lib/state.sqlite')))
  node.kill('SIGTERM')
  t.same(await once(node, 'exit'), [0, null])
})

t.test('systemd accepts the unit', { skip: needsPrograms('systemd-analyze') }, async (t) => {
  const file = join(folder, 'nodekeep.service')
  const unit = changed(await readRecipe('nodekeep.service'), {
    '/usr/bin/node': join(bin, 'node'),
    'User=nodekeep': 'User=daemon',
    [`file:${place}`]: `file:${installed}`,
  })
  await writeFile(file, unit)
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
  })
  const findings = stderr.split('\n').filter((line) => line.includes('nodekeep.service'))
  t.same({ status, findings }, { status: 0, findings: [] })
})

/** Copies the files that Docker would send to the build: all but those that the ignore file excludes. */
async function copyContext(to: string): Promise<void> {
  const patterns = (await readRecipe('Dockerfile.dockerignore')).trim().split('\n')
  const isIgnored = (path: string) => patterns.some((pattern) => matchesGlob(path, pattern))
  await cp(root, to, { recursive: true, filter: (source) => !isIgnored(relative(root, source)) })
}

/** Runs a line of a shell with the Node of this repository. */
async function shell(command: string, cwd: string): Promise<void> {
  const npm = { npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false' }
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const about = /^(npm_(lifecycle|package|command|config_local_prefix)|INIT_CWD$|NODE_OPTIONS$|TAP|_TAPJS)/
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([key]) => !about.test(key)))
  await promisify(execFile)('sh', ['-c', command], { cwd, env: { ...inherited, ...npm, PATH } })
}

/** Starts a node as an ordinary user and waits until it is ready. The end of the test kills it. */
async function startCommand(t: Test, [program = '', ...args]: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], ...nobody })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.includes('The node is ready.')) resolve()
    })
  }
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`The node ended with ${code}:\n${output}`)))
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })
  await promise
  return child
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
