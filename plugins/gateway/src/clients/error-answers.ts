import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { SingleResponseServer } from './single-response-server.ts'

/** Answers clients that no node serves, in the form of all errors of a node. */
export class ErrorAnswers {
  readonly #server: SingleResponseServer
  readonly #errors = new WeakMap<Duplex, NodekeepError>()

  /** @param ms the time for a request and its answer */
  constructor(ms: number) {
    this.#server = new SingleResponseServer(ms, (request, response) => {
      answer(response, this.#errors.get(request.socket) ?? noSuchNode())
    })
  }

  /** Reads the request of a client and answers it with the error. */
  refuse(socket: Duplex, error: NodekeepError): void {
    this.#errors.set(socket, error)
    this.#server.serve(socket)
  }
}

/** Answers a request with an error. */
export function answer(response: ServerResponse, error: NodekeepError): void {
  const { status, code, message, headers } = error
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
  })
  response.end(JSON.stringify({ error: true, message, code }))
}

/** The error for a name or a port that no node has. */
export function noSuchNode(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'No node has this address. Check the spelling.')
}

/** The error while a node is away. */
export function nodeAway(): NodekeepError {
  return new NodekeepError(
    'SERVICE_UNAVAILABLE',
    'The node is not connected. Try again later, or ask its owner.',
    {
      headers: { 'retry-after': '10' },
    },
  )
}

/** The error while a node has as many clients as the gateway forwards to one node. */
export function nodeBusy(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The node has too many connections. Try again soon.', {
    headers: { 'retry-after': '5' },
  })
}
