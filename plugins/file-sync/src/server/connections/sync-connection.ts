import { setTimeout as delay } from 'node:timers/promises'
import type { WebSocket } from '@fastify/websocket'
import {
  type AuthenticatedUser,
  type ChangeLog,
  type ChangePosition,
  errorBodyOf,
  errorStatus,
  type FileChange,
  invalid,
  type Log,
  NodekeepError,
  untilAborted,
} from '@nodekeep/plugin-sdk'
import {
  type ClientMessage,
  helloMs,
  largestChanges,
  longestClientMessage,
  mostChanges,
  protocolVersion,
  readClientMessage,
  type ServerMessage,
} from '../../protocol/messages.ts'
import { changesAfter } from '../changes-after.ts'
import { type Device, type Devices, wasAway } from '../devices/devices.ts'
import { MessageAllowance } from './message-allowance.ts'

/** Status codes of RFC 6455, section 7.4.1. */
const policyViolation = 1008
const internalError = 1011

/** Milliseconds between two messages with changes. Many changes in a short time then come in few messages. */
const gatherMs = 50

/** Milliseconds for the client to close its side, too. */
const closeMs = 1000

/** Bytes of messages that the client has not read. More than this cannot come from a client that keeps to the protocol. */
const mostUnread = 4 * largestChanges

type Hello = Extract<ClientMessage, { type: 'hello' }>
type ResetReason = 'new' | 'epoch' | 'expired'

interface SyncConnectionServices {
  readonly changes: ChangeLog
  readonly devices: Devices
  /** Called when it is known which device the client speaks for. */
  readonly onDevice: (device: Device) => void
  /** Called when a device has stored more changes. */
  readonly onStored: (userUuid: string) => void
  /** Its lines name the user and the address of the client. */
  readonly log: Log
  /** The id of the request, for errors. */
  readonly requestId: string
}

/**
 * The connection of one client. It sends changes one message at a time: the next one follows when the client has stored the one
 * before. So a slow client costs the memory of one message.
 */
export class SyncConnection {
  readonly #socket: WebSocket
  readonly #user: AuthenticatedUser
  readonly #services: SyncConnectionServices
  readonly #closed = new AbortController()
  readonly #allowance = new MessageAllowance()
  readonly #hello = Promise.withResolvers<Hello>()
  /** Resolves when there may be something to send. */
  #news = Promise.withResolvers<void>()
  #isGreeted = false
  #deviceId: string | null = null
  /** The position of the last message with changes, and the cursor up to which the client has stored everything. */
  #sent: ChangePosition = { epoch: '', seq: 0, id: '' }
  #stored = 0
  /** The mount of the last message `waiting`. */
  #mount: string | null = null
  #isAlive = true

  constructor(socket: WebSocket, user: AuthenticatedUser, services: SyncConnectionServices) {
    this.#socket = socket
    this.#user = user
    this.#services = services
    socket.on('message', (data: Buffer, isBinary: boolean) => this.#receive(data, isBinary))
    socket.on('pong', () => {
      this.#isAlive = true
    })
    socket.once('close', () => this.end())
  }

  get deviceId(): string | null {
    return this.#deviceId
  }

  /** Talks to the client until the connection is closed. */
  async run(): Promise<void> {
    const timer = setTimeout(() => this.fail(lateHello()), helloMs)
    try {
      const hello = await untilAborted(this.#hello.promise, this.#closed.signal)
      clearTimeout(timer)
      await this.#begin(hello)
      while (!this.#closed.signal.aborted) {
        this.#tellWaiting()
        if (this.#sent.seq === this.#stored && (await this.#sendChanges())) {
          await delay(gatherMs, undefined, { signal: this.#closed.signal })
        } else {
          await this.#news.promise
          this.#news = Promise.withResolvers()
        }
      }
    } catch (error) {
      if (!this.#closed.signal.aborted) this.fail(error)
    } finally {
      clearTimeout(timer)
      if (this.#deviceId !== null) this.#services.devices.see(this.#deviceId)
    }
  }

  /** Reads new changes, and sends them. */
  notice(): void {
    this.#news.resolve()
  }

  /** Asks the client whether it is alive. A client that has not answered the last time is cut off. */
  beat(): void {
    const socket = this.#socket
    if (!this.#isAlive || socket.bufferedAmount > mostUnread) {
      socket.terminate()
      return
    }
    this.#isAlive = false
    socket.ping()
  }

  /** Sends the client an error, and closes the connection. */
  fail(thrown: unknown): void {
    if (this.#closed.signal.aborted) return
    const { log, requestId } = this.#services
    const socket = this.#socket
    const { code, message } = errorBodyOf(thrown, requestId)
    const isOurs = errorStatus[code] >= 500
    if (isOurs) log.error({ err: thrown }, message)
    this.#send({ type: 'error', error: { code, message } })
    this.end()
    socket.close(isOurs ? internalError : policyViolation, code)
    setTimeout(() => socket.terminate(), closeMs).unref()
  }

  /** Ends the loop of a connection that is closed already. */
  end(): void {
    this.#closed.abort()
    this.#news.resolve()
  }

  #send(message: ServerMessage): void {
    this.#socket.send(JSON.stringify(message))
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#closed.signal.aborted) return
    this.#isAlive = true
    try {
      if (isBinary) throw invalid('Messages are texts.')
      if (data.length > longestClientMessage) {
        throw invalid(`A message has at most ${longestClientMessage} bytes.`)
      }
      this.#take(read(String(data)))
    } catch (error) {
      this.fail(error)
    }
  }

  #take(message: ClientMessage): void {
    // The changes that are sent bound their acks.
    const isDue =
      message.type === 'ack' && message.cursor === this.#sent.seq && this.#sent.seq !== this.#stored
    if (!isDue && !this.#allowance.take()) throw tooManyMessages()
    if (message.type === 'ping') this.#send({ type: 'pong' })
    else if (message.type === 'ack') this.#ack(message.cursor)
    else if (message.type === 'listed') this.#storeListing(message.listing)
    else if (this.#isGreeted) throw invalid('Say hello once.')
    else {
      this.#isGreeted = true
      this.#hello.resolve(message)
    }
  }

  #ack(cursor: number): void {
    if (cursor === this.#stored) return
    if (cursor !== this.#sent.seq) throw invalid('The cursor of an ack must be that of the last changes.')
    this.#store(cursor)
    this.#news.resolve()
  }

  #storeListing(listing: string): void {
    if (this.#deviceId !== null) this.#services.devices.storeListing(this.#deviceId, listing)
  }

  #store(cursor: number): void {
    const { devices, onStored } = this.#services
    this.#stored = cursor
    if (this.#deviceId === null) return
    devices.store(this.#deviceId, { epoch: this.#sent.epoch, cursor })
    onStored(this.#user.uuid)
  }

  async #begin(hello: Hello): Promise<void> {
    const { changes, log } = this.#services
    if (hello.protocol !== protocolVersion) {
      throw invalid(
        `This node speaks version ${protocolVersion} of the protocol. Update the client or the node.`,
      )
    }
    const device = this.#deviceOf(hello)
    // The call also goes on following the user, which needs no waiting for a client that goes on.
    changes
      .follow(this.#user.uuid)
      .catch((error) => log.warn({ err: error }, 'Changes of other programs may be missed.'))
    const position = { epoch: hello.epoch ?? '', seq: hello.cursor ?? 0, id: hello.changeId ?? '' }
    const reason = await this.#reasonToReset(hello, position, device)
    const { epoch, seq: head } = await changes.head(this.#user.uuid)
    const reset = reason !== null
    this.#send({ type: 'welcome', protocol: protocolVersion, device: device?.id ?? null, epoch, head, reset })
    if (reason !== null) return this.#reset(reason)
    this.#sent = position
    this.#stored = position.seq
  }

  /** Why a client cannot go on from its position; `null` if it can. */
  async #reasonToReset(
    { cursor, listing }: Hello,
    position: ChangePosition,
    device: Device | null,
  ): Promise<ResetReason | null> {
    const { changes, devices } = this.#services
    if (cursor === undefined) return 'new'
    if (position.epoch !== changes.epoch) return 'epoch'
    if (device !== null && wasAway(device)) return 'expired'
    // The device may have listed what the journal told only later. A node that was put back to an older state has no such row.
    if (device !== null && listing !== undefined && !devices.knowsListing(device.id, listing))
      return 'expired'
    return (await changesAfter(changes, this.#user.uuid, position, 1)) === null ? 'expired' : null
  }

  #deviceOf({ device: id, name }: Hello): Device | null {
    const { devices, onDevice } = this.#services
    if (id === undefined && name === undefined) return null
    const device = id !== undefined ? devices.of(this.#user, id) : this.#newDevice(name ?? '')
    devices.see(device.id)
    this.#deviceId = device.id
    onDevice(device)
    return device
  }

  #newDevice(name: string): Device {
    const { devices, log } = this.#services
    const device = devices.create(this.#user, name)
    log.info({ event: 'device-added', device: device.id, name }, 'A device was added.')
    return device
  }

  /** Makes the client list all files. */
  async #reset(reason: ResetReason): Promise<void> {
    const { changes, devices } = this.#services
    // Changes before this have no rows, so the client must list the files after it.
    await untilAborted(changes.follow(this.#user.uuid), this.#closed.signal)
    const head = await changes.head(this.#user.uuid)
    this.#sent = head
    this.#store(head.seq)
    const listing = this.#deviceId === null ? {} : { listing: devices.askForListing(this.#deviceId) }
    this.#send({ type: 'reset', reason, epoch: head.epoch, head: head.seq, changeId: head.id, ...listing })
  }

  /** Sends the next changes. Returns whether there was anything to send. */
  async #sendChanges(): Promise<boolean> {
    const { changes } = this.#services
    const socket = this.#socket
    if (changes.epoch !== this.#sent.epoch) {
      await this.#reset('epoch')
      return true
    }
    const rows = await changesAfter(changes, this.#user.uuid, this.#sent, mostChanges)
    if (rows === null) {
      await this.#reset('expired')
      return true
    }
    const [last, texts] = page(rows)
    if (last === null) return false
    const head = await changes.head(this.#user.uuid)
    if (this.#closed.signal.aborted) return false
    const { seq, id } = last
    this.#sent = { epoch: this.#sent.epoch, seq, id }
    const position = `"cursor":${seq},"changeId":${JSON.stringify(id)}`
    socket.send(`{"type":"changes",${position},"changes":[${texts.join(',')}],"head":${head.seq}}`)
    return true
  }

  #tellWaiting(): void {
    const stalled = this.#services.changes.stalled(this.#user.uuid)
    const mount = stalled?.mount ?? null
    if (mount === this.#mount) return
    this.#mount = mount
    this.#send({ type: 'waiting', mount, since: stalled?.since.toISOString() ?? null })
  }
}

/** The first of some changes, as texts that fit into a message, and the last one of them; null without changes. */
function page(rows: readonly FileChange[]): readonly [FileChange | null, readonly string[]] {
  const texts: string[] = []
  let last: FileChange | null = null
  let size = 0
  for (const row of rows) {
    // Clients follow what has changed; who did it is in `GET /api/files/changes`.
    const { seq, id, maker, group, at, ...change } = row
    const text = JSON.stringify({ ...change, at: at.toISOString() })
    size += Buffer.byteLength(text)
    if (size > largestChanges && texts.length > 0) break
    texts.push(text)
    last = row
  }
  return [last, texts]
}

function read(text: string): ClientMessage {
  try {
    return readClientMessage(text)
  } catch (error) {
    throw invalid((error as Error).message)
  }
}

function lateHello(): NodekeepError {
  return new NodekeepError(
    'REQUEST_TIMEOUT',
    `The first message must be hello, within ${helloMs / 1000} seconds.`,
  )
}

function tooManyMessages(): NodekeepError {
  return new NodekeepError('TOO_MANY_REQUESTS', 'The client sends too many messages. Connect again later.')
}
