import { Address, Leases, tokenKey, Users } from '@nodekeep/plugin-sdk'

/** The keys of the services that the kernel itself provides to plugins. */
export const kernelServices: ReadonlySet<string> = new Set([Users, Leases, Address].map(tokenKey))
