import { defineRegistry, lackingMethod } from '../service.ts'

/** A part of a plugin that keeps data of users. Its name in the registry is the kind of data, such as `files`. */
export interface UserDataHolder {
  /**
   * Removes all data of a user for good, after the grace period of a deletion. It is called again, also after a restart,
   * until it has resolved once. It must therefore succeed if there is nothing to remove.
   */
  erase(userUuid: string, signal: AbortSignal): Promise<void>
}

/** All holders of user data. Every plugin that stores data by user must add one. */
export const UserData = defineRegistry<UserDataHolder>('user-data', 1, (holder) =>
  lackingMethod(holder, 'erase'),
)
