import { isIP, isIPv6 } from 'node:net'

/** The ALPN protocol (RFC 7301) of all connections between a node and its gateway. */
export const tunnelProtocol = 'nodekeep-tunnel/1'

/** The version of the messages within the protocol. */
export const tunnelVersion = 2

/** The length of a line without its line feed, in bytes. */
export const maxLineBytes = 4096

/** The first line of a connection, from the node. */
export type FirstLine =
  | {
      readonly purpose: 'control'
      readonly version: number
      /** Names the running process: 32 hexadecimal digits, random at each start. */
      readonly instance: string
      /** Whether the node ends TLS for its names. Otherwise the gateway may. */
      readonly endsTls: boolean
      /** The gateway's name or IP address, as the node knows it. The URL of an allocated port has it. */
      readonly host: string
    }
  | { readonly purpose: 'data'; readonly instance: string }
  | { readonly purpose: 'api' }

/** The line of the gateway on a data connection, before the bytes of the client. */
export interface ClientLine {
  /** The IP address of the client. */
  readonly address: string
  readonly port: number
  /** The TLS server name that the client asked for, in lower case; `null` without one. */
  readonly serverName: string | null
  /** The first bytes: a request of HTTP/1.1, or a ClientHello. */
  readonly protocol: 'http' | 'tls'
  /** Whether TLS protects the client's own connection. */
  readonly encrypted: boolean
}

/** The messages by which both sides of a control connection know that the other one is alive. */
export type KeepAlive = { readonly type: 'ping' } | { readonly type: 'pong' }

/** A message of the gateway on the control connection. */
export type GatewayMessage =
  | {
      readonly type: 'welcome'
      /** The port of the gateway for the node; 0 without one. */
      readonly port: number
      /** The URLs of the node, without a path: `https://me.example.org`. At most 10. */
      readonly urls: readonly string[]
    }
  | { readonly type: 'dial'; readonly count: number }
  | {
      readonly type: 'reachability'
      readonly url: string
      readonly reachable: boolean
      /** Why it is not reachable: a sentence for the log. */
      readonly reason: string | null
    }
  | { readonly type: 'replaced' }
  | {
      readonly type: 'refused'
      /** A sentence for the log of the node. */
      readonly reason: string
      readonly retrySeconds: number
    }
  | { readonly type: 'stopping' }

/** A message of the node on the control connection. */
export type NodeMessage = { readonly type: 'leaving' }

/**
 * Reads the first line of a connection.
 *
 * @throws Error with a sentence for the log
 */
export function readFirstLine(line: string): FirstLine {
  return read(line, 'purpose', firstLines)
}

/**
 * Reads the line of the gateway about a client.
 *
 * @throws Error with a sentence for the log
 */
export function readClientLine(line: string): ClientLine {
  return pick(parse(line), clientLine, 'a client') as unknown as ClientLine
}

/**
 * Reads a message of the gateway.
 *
 * @throws Error with a sentence for the log
 */
export function readGatewayMessage(line: string): GatewayMessage | KeepAlive {
  return read<GatewayMessage | KeepAlive, 'type'>(line, 'type', { ...gatewayMessages, ...keepAlive })
}

/**
 * Reads a message of the node.
 *
 * @throws Error with a sentence for the log
 */
export function readNodeMessage(line: string): NodeMessage | KeepAlive {
  return read<NodeMessage | KeepAlive, 'type'>(line, 'type', { ...nodeMessages, ...keepAlive })
}

/** Returns the bytes of a line. */
export function writeLine(value: FirstLine | ClientLine | GatewayMessage | NodeMessage | KeepAlive): string {
  return `${JSON.stringify(value)}\n`
}

type Check = (value: unknown) => boolean
type Checks<T> = { readonly [K in keyof T]: Check }
type ChecksByKind<T, Kind extends keyof T> = {
  readonly [K in T[Kind] & string]: Checks<Omit<Extract<T, Record<Kind, K>>, Kind>>
}

const isBoolean: Check = (value) => typeof value === 'boolean'
const isSentence: Check = (value) => typeof value === 'string' && value.length <= 1000
const isUrl: Check = (value) => typeof value === 'string' && value.length <= 300 && URL.canParse(value)
const isInstance: Check = (value) => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
const isPort: Check = (value) => isWithin(value, 0, 65_535)
const isWithin = (value: unknown, least: number, most: number) =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most
const isHost: Check = (value) =>
  typeof value === 'string' &&
  /^[a-zA-Z0-9_.:-]{1,253}$/.test(value) &&
  URL.canParse(`http://${isIPv6(value) ? `[${value}]` : value}:1`)
const isServerName: Check = (value) =>
  value === null || (typeof value === 'string' && /^[a-z0-9_.-]{1,253}$/.test(value))

const firstLines: ChecksByKind<FirstLine, 'purpose'> = {
  control: {
    version: (value) => isWithin(value, 1, 1000),
    instance: isInstance,
    endsTls: isBoolean,
    host: isHost,
  },
  data: { instance: isInstance },
  api: {},
}

const clientLine: Checks<ClientLine> = {
  address: (value) => typeof value === 'string' && isIP(value) !== 0,
  port: isPort,
  serverName: isServerName,
  protocol: (value) => value === 'http' || value === 'tls',
  encrypted: isBoolean,
}

const gatewayMessages: ChecksByKind<GatewayMessage, 'type'> = {
  welcome: {
    port: isPort,
    urls: (value) => Array.isArray(value) && value.length <= 10 && value.every(isUrl),
  },
  dial: { count: (value) => isWithin(value, 1, 10_000) },
  reachability: { url: isUrl, reachable: isBoolean, reason: (value) => value === null || isSentence(value) },
  replaced: {},
  refused: { reason: isSentence, retrySeconds: (value) => isWithin(value, 0, 86_400) },
  stopping: {},
}

const keepAlive: ChecksByKind<KeepAlive, 'type'> = { ping: {}, pong: {} }

const nodeMessages: ChecksByKind<NodeMessage, 'type'> = { leaving: {} }

function read<T, Kind extends keyof T & string>(line: string, kind: Kind, table: ChecksByKind<T, Kind>): T {
  const value = parse(line)
  const name = value[kind]
  if (typeof name !== 'string' || !Object.hasOwn(table, name)) {
    throw new Error(`The other side sent a line of an unknown ${kind}.`)
  }
  const checks = table[name as keyof typeof table] as Readonly<Record<string, Check>>
  return { [kind]: name, ...pick(value, checks, `"${name}"`) } as T
}

function parse(line: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    value = null
  }
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw new Error('The other side sent a line that is not a JSON object.')
}

/** Returns the fields that are known. */
function pick(
  value: Readonly<Record<string, unknown>>,
  checks: Readonly<Record<string, Check>>,
  subject: string,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]) => {
      if (!Object.hasOwn(value, name) || !check(value[name])) {
        throw new Error(`The other side sent a line about ${subject} whose "${name}" is not valid.`)
      }
      return [name, value[name]]
    }),
  )
}
