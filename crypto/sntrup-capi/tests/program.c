/* Uses every function of sntrup.h. */
#include "sntrup.h"

#define PUBLIC_KEY_AT(PK, SK) (SK - 32 - (PK + (SK - PK - 32) / 3))
#define SPOIL_SECRET_KEY(sk, PK, SK) ((sk)[0] = 0xff)

#include "kem_api.h"

TEST(sntrup653)
TEST(sntrup761)
TEST(sntrup857)
TEST(sntrup953)
TEST(sntrup1013)
TEST(sntrup1277)

int main(void)
{
    test_sntrup653();
    test_sntrup761();
    test_sntrup857();
    test_sntrup953();
    test_sntrup1013();
    test_sntrup1277();
    return 0;
}
