import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { findProgram } from '@nodekeep/kernel/testing'
import type { Test } from 'tap'
import { freePort } from '../free-ports.ts'
import { root } from '../run/command.ts'

/** The name in all recipes. */
export const name = 'node.example.org'

/** A proxy that listens on loopback. */
export interface StartedProxy {
  readonly port: number
  /** The certificate that signs its own. */
  readonly ca: string
}

/** A proxy for which there is a recipe. */
interface Recipe {
  readonly proxy: string
  /** Programs without which the recipe cannot run. */
  readonly programs: readonly string[]
  /** Runs the recipe in front of a node, until the test ends. */
  start(t: Test, node: URL): Promise<StartedProxy>
}

/** The recipes of `examples/deploy`. Only addresses, ports and the place of certificates are changed. */
export const recipes: readonly Recipe[] = [
  {
    proxy: 'Caddy',
    programs: ['caddy'],
    async start(t, node) {
      const { folder, port } = await prepare(t)
      const site = changed(await readRecipe('Caddyfile'), { '127.0.0.1:4200': node.host })
      const file = join(folder, 'Caddyfile')
      const http = await freePort()
      await writeFile(
        file,
        `{
  admin off
  default_bind 127.0.0.1
  http_port ${http}
  https_port ${port}
  local_certs
  skip_install_trust
  storage file_system ${folder}
}
${site}`,
      )
      const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
      await run(t, 'caddy', ['run', '--config', file, '--adapter', 'caddyfile'], port, env)
      return { port, ca: await readFile(join(folder, 'pki/authorities/local/root.crt'), 'utf8') }
    },
  },
  {
    proxy: 'nginx',
    programs: ['nginx', 'openssl'],
    async start(t, node) {
      const { folder, port } = await prepare(t)
      const site = changed(await readRecipe('nginx.conf'), {
        'listen 80;': `listen 127.0.0.1:${await freePort()};`,
        'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
        '/etc/letsencrypt/live/node.example.org/fullchain.pem': join(folder, 'cert.pem'),
        '/etc/letsencrypt/live/node.example.org/privkey.pem': join(folder, 'key.pem'),
        '127.0.0.1:4200': node.host,
      })
      const key = [
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-keyout',
        'key.pem',
      ]
      const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
      await promisify(execFile)('openssl', ['req', '-x509', ...key, '-out', 'cert.pem', ...subject], {
        cwd: folder,
      })
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (kind) => `${kind}_temp_path ${folder}/${kind};`,
      )
      const file = join(folder, 'nginx.conf')
      await writeFile(
        file,
        `daemon off;
pid ${folder}/nginx.pid;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
  access_log off;
  ${temporary.join(' ')}
${site}
}`,
      )
      await run(t, 'nginx', ['-p', folder, '-c', file, '-e', join(folder, 'error.log')], port)
      return { port, ca: await readFile(join(folder, 'cert.pem'), 'utf8') }
    },
  },
]

/** Reads a file of `examples/deploy`. */
export function readRecipe(file: string): Promise<string> {
  return readFile(join(root, 'examples/deploy', file), 'utf8')
}

/** Replaces parts of a recipe. @throws Error when the recipe lacks one of them */
export function changed(recipe: string, changes: Readonly<Record<string, string>>): string {
  let text = recipe
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`The recipe has no "${from}".`)
    text = text.replaceAll(from, to)
  }
  return text
}

async function prepare(t: Test): Promise<{ folder: string; port: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-proxy-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return { folder, port: await freePort() }
}

/** Starts a proxy and waits until it has a certificate for the name. The end of the test stops it. */
async function run(
  t: Test,
  program: string,
  args: readonly string[],
  port: number,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const path = findProgram(program)
  if (path === null) throw new Error(`${program} is not installed.`)
  const child = spawn(path, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await accepting(child, port, () => output)
}

async function accepting(child: ChildProcess, port: number, output: () => string): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect({ port, host: '127.0.0.1', servername: name, rejectUnauthorized: false })
    const isOpen = await Promise.race([
      once(socket, 'secureConnect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`The proxy ended:\n${output()}`)
}
