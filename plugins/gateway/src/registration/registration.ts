import type { Log } from '@nodekeep/plugin-sdk'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { AddressProof } from './address-proof.ts'
import { parseEndpoint } from './endpoint.ts'
import type { RegisteredNames } from './registered-names.ts'
import { type SignedRequest, verifySignedRequest } from './signed-request.ts'
import { isReserved, parseSubdomain } from './subdomain.ts'
import type { UsedProofs } from './used-proofs.ts'

interface RegistrationServices {
  readonly names: RegisteredNames
  readonly proofs: UsedProofs
  readonly addressProof: Pick<AddressProof, 'prove'>
  /** Returns the URL of a name, without a path. */
  readonly urlOf: (label: string) => string
  /** Whether a node keeps a tunnel open now. */
  readonly isConnected: (nodeId: string) => boolean
  /** A node has got or lost a name that points to its tunnel. */
  readonly changed: (nodeId: string) => void
  readonly log: Log
}

interface RegistrationOptions {
  /** The domain whose subdomains are names. */
  readonly domain: string
  /** The ids of the nodes that may register; empty for all. */
  readonly allowed: readonly string[]
  readonly namesPerNode: number
  readonly reserved: readonly string[]
}

/** The answer to a registration. */
interface Registered {
  readonly subdomain: string
  readonly url: string
}

/** The public facts of a name. */
interface NameStatus {
  readonly subdomain: string
  /** Whether no other node can have the name: a node has it, or it is reserved. */
  readonly registered: boolean
  /** Whether the node keeps its tunnel open; `null` if it is at an address of its own, which nobody watches. */
  readonly connected: boolean | null
  readonly url: string | null
}

/** Gives names to nodes that prove their key. */
export class Registration {
  readonly #services: RegistrationServices
  readonly #options: RegistrationOptions

  constructor(services: RegistrationServices, options: RegistrationOptions) {
    this.#services = services
    this.#options = options
  }

  /**
   * Gives a name to the node that signed the request.
   *
   * @throws NodekeepError with the reason
   */
  async register(request: SignedRequest, body: { subdomain: string; endpoint: string }): Promise<Registered> {
    const { names, addressProof, urlOf, changed, log } = this.#services
    const { domain, namesPerNode, reserved } = this.#options
    const node = await this.#prove(request)
    const subdomain = parseSubdomain(body.subdomain)
    if (isReserved(subdomain, reserved)) {
      throw new NodekeepError('CONFLICT', `The name "${subdomain}" is reserved. Choose another one.`)
    }
    const endpoint = parseEndpoint(body.endpoint, node, domain)
    names.check(subdomain, node, namesPerNode)
    const address = endpoint.kind === 'tunnel' ? null : await addressProof.prove(endpoint.url, node)
    // Another node may have been faster meanwhile, so this checks again.
    names.claim(subdomain, node, address, namesPerNode)
    log.info({ name: subdomain, node, ...address }, 'A node has registered a name.')
    changed(node)
    return { subdomain, url: urlOf(subdomain) }
  }

  /**
   * Takes a name back from the node that signed the request. Others may have it from now on.
   *
   * @throws NodekeepError with the reason
   */
  async release(request: SignedRequest, name: string): Promise<void> {
    const { names, changed, log } = this.#services
    const node = await this.#prove(request)
    const subdomain = parseSubdomain(name)
    names.release(subdomain, node)
    log.info({ name: subdomain, node }, 'A node has released its name.')
    changed(node)
  }

  /** @throws NodekeepError VALIDATION_ERROR if it cannot be a name */
  status(name: string): NameStatus {
    const { names, urlOf, isConnected } = this.#services
    const { reserved } = this.#options
    const subdomain = parseSubdomain(name)
    const found = names.find(subdomain)
    if (found === null) {
      return { subdomain, registered: isReserved(subdomain, reserved), connected: false, url: null }
    }
    const connected = found.address === null ? isConnected(found.node) : null
    return { subdomain, registered: true, connected, url: urlOf(subdomain) }
  }

  /** Returns the node that signed a request. */
  async #prove(request: SignedRequest): Promise<string> {
    const { allowed } = this.#options
    const now = Math.floor(Date.now() / 1000)
    const proof = await verifySignedRequest(request, now)
    if (allowed.length > 0 && !allowed.includes(proof.nodeId)) {
      throw new NodekeepError(
        'FORBIDDEN',
        `The operator of the gateway has to add ${proof.nodeId} to "gateway.nodes".`,
      )
    }
    // Last, so that strangers cannot fill the list of proofs of a gateway that lists its nodes.
    this.#services.proofs.use(proof, now)
    return proof.nodeId
  }
}
