import { defineRegistry } from '../service.ts'

/** A plugin that keeps data of users. The name in the registry says which data, such as `files`. */
export interface UserDataHolder {
  /**
   * Removes everything of a user for good, when the time after a deletion is over. It is called again, also after a
   * restart, until it has resolved once; so it must not mind finding nothing.
   */
  erase(userUuid: string, signal: AbortSignal): Promise<void>
}

/** All that keep data of users. Whoever stores something by user belongs here. */
export const UserData = defineRegistry<UserDataHolder>('user-data', 1)
