import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const launcher = fileURLToPath(new URL('../../../bin/nodekeep-service', import.meta.url))
const cli = fileURLToPath(new URL('../../../../../kernel/bin/nodekeep.js', import.meta.url))

/** Runs `nodekeep service`, without a configuration. */
function service(cwd: string, ...args: readonly string[]) {
  const all = ['--conditions=nodekeep-source', cli, 'service', ...args]
  const env = { XDG_CACHE_HOME: process.env.XDG_CACHE_HOME }
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, all, { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}

/** A folder for releases, with the launcher. */
async function releasesFolder(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-launcher-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const releases = join(folder, 'releases')
  const count = join(releases, 'failed-starts')
  return {
    folder,
    releases,
    /** Adds a release whose supervisor prints its name and its arguments, and does what a script says. */
    async add(name: string, path: string, script = 'exit 1') {
      const bin = join(path, 'bin')
      await mkdir(bin, { recursive: true })
      await writeFile(join(bin, 'nodekeep'), `#!/bin/sh\necho "${name} $*"\n${script}\n`)
      await chmod(join(bin, 'nodekeep'), 0o755)
    },
    launch: (file = launcher, ...args: string[]) =>
      new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
        execFile(file, [releases, ...args], (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, stdout, stderr }),
        )
      }),
    count: () => readFile(count, 'utf8').then(Number, () => null),
    setCount: (text: string) => writeFile(count, text),
    served: `rm -f '${count}'`,
  }
}

test('the launcher takes the former release after three supervisors that did not work', async (t) => {
  const { releases, add, launch, count, served } = await releasesFolder(t)
  await add('new', join(releases, '2.0.0'))
  await add('old', join(releases, '1.0.0'), served)
  await symlink('2.0.0', join(releases, 'current'))
  await symlink('1.0.0', join(releases, 'former'))
  for (const start of [1, 2, 3]) {
    t.match(await launch(launcher, '--port', '0'), {
      code: 1,
      stdout: 'new supervise --port 0\n',
      stderr: '',
    })
    t.equal(await count(), start)
  }
  const fourth = await launch(launcher, '--port', '0')
  const reason = 'Its supervisor has failed 3 times, one after the other.'
  t.match(fourth, { code: 0, stdout: `old supervise --back ${reason} --port 0\n` })
  t.match(fourth.stderr, 'The supervisor of the release in use has failed 3 times')
  t.equal(await count(), null, 'a supervisor that works removes the count')
})

test('the launcher stays with the release in use if there is no former one, or if the count is damaged', async (t) => {
  const { releases, add, launch, setCount, count } = await releasesFolder(t)
  await add('new', join(releases, '2.0.0'))
  await symlink('2.0.0', join(releases, 'current'))
  await setCount('7')
  t.match(await launch(), { stdout: 'new supervise\n' })
  t.equal(await count(), 8)
  await add('old', join(releases, '1.0.0'))
  await symlink('1.0.0', join(releases, 'former'))
  for (const damaged of ['', 'x', '-1', '3 4', '9e9']) {
    await setCount(damaged)
    t.match(await launch(), { stdout: 'new supervise\n' }, JSON.stringify(damaged))
  }
})

test('before a release is in use, the launcher starts the one beside it', async (t) => {
  const { folder, releases, add, launch } = await releasesFolder(t)
  const copy = join(folder, 'nodekeep-service')
  await writeFile(copy, await readFile(launcher), { mode: 0o755 })
  t.match(await launch(copy), { code: 1, stdout: '', stderr: /There is no release at .*service install/ })
  const first = join(folder, 'first')
  await add('first', first, 'exit 0')
  const started = { code: 0, stdout: `first supervise --release ${first}\n`, stderr: '' }
  t.match(await launch(copy), started)
  await mkdir(releases)
  await symlink('/nowhere', join(releases, 'current'))
  t.match(await launch(copy), started, 'a link that leads nowhere')
  await add('new', join(releases, '2.0.0'), 'exit 0')
  await symlink('2.0.0', join(releases, 'new'))
  await rename(join(releases, 'new'), join(releases, 'current'))
  const stdout = `new supervise --release ${first} --port 0\n`
  t.match(await launch(copy, '--port', '0'), { stdout }, 'it offers the installed one to the one in use')
})

test('service install --print shows the unit with its places', async (t) => {
  const folder = t.testdir()
  const { code, stdout } = await service(folder, 'install', '--print')
  t.equal(code, 0)
  for (const line of [
    'User=nodekeep',
    'Environment=NODEKEEP_CONFIG=/etc/nodekeep/nodekeep.json',
    'Environment=NODEKEEP_DATA=/var/lib/nodekeep',
    'Environment=NODEKEEP_RELEASES__FOLDER=/var/lib/nodekeep/releases',
    'EnvironmentFile=-/etc/nodekeep/environment',
    'ExecStart=/usr/local/lib/nodekeep/nodekeep-service /var/lib/nodekeep/releases',
    // Otherwise systemd ends the supervisor too, and a version that takes too much memory is tried forever.
    'OOMPolicy=continue',
    'CapabilityBoundingSet=',
    'NoNewPrivileges=yes',
  ]) {
    t.ok(stdout.split('\n').includes(line), line)
  }
  t.notMatch(stdout, 'ReadWritePaths')
  const other = await service(
    folder,
    ...['install', '--print', '--user', 'ada', '--config', '/etc/ada/node.json'],
    ...['--data', '/srv/ada/', '--releases', '/opt/releases'],
  )
  for (const line of [
    'User=ada',
    'Environment=NODEKEEP_CONFIG=/etc/ada/node.json',
    'Environment=NODEKEEP_RELEASES__FOLDER=/opt/releases',
    'EnvironmentFile=-/etc/ada/environment',
    'ExecStart=/usr/local/lib/nodekeep/nodekeep-service /opt/releases',
    'ReadWritePaths=/srv/ada /opt/releases',
    'WorkingDirectory=/srv/ada',
  ]) {
    t.ok(other.stdout.split('\n').includes(line), line)
  }
})

test('service install refuses what systemd could not run', async (t) => {
  const folder = t.testdir()
  const root = ['--root', join(folder, 'root')]
  const refused = [
    [['install', '--print', '--data', 'data'], /--data takes an absolute path/],
    [['install', '--print', '--config', '/home/ada/node.json'], /folders of people are hidden/],
    [['install', '--print', '--releases', '/srv/my releases'], /white space/],
    [['install', '--print', '--data', '/srv/a\nUser=root'], /white space/],
    [['install', '--print', '--user', 'a b'], /no name of an account/],
    [['install', ...root], /does not run from a release/],
    [['uninstall', ...root], /No service is installed/],
  ] as const
  for (const [args, expected] of refused) {
    const { code, stdout, stderr } = await service(folder, ...args)
    t.match({ code, stdout }, { code: 1, stdout: '' }, args.join(' '))
    t.match(stderr, /^nodekeep: [^\n]+\n$/)
    t.match(stderr, expected)
  }
})
